#pragma once
// The C library's file calls, as this program and the libraries in it call them: SQLite, and our own
// files. A test program that links this target can have them recorded, so that what a power cut
// leaves can be worked out; or refused, as a disk does that has become read-only; or ended at any
// one of them by SIGKILL. Where nothing of that is asked for, each goes straight to the C library.
//
// One recording for the process; tests that use it run one after another.

#include <stddef.h>

enum disk_kind {
  DISK_MAKE_DIRECTORY = 1,
  DISK_CREATE,
  DISK_WRITE,
  DISK_TRUNCATE,
  DISK_SYNC,
  DISK_SYNC_DIRECTORY,
  DISK_RENAME,
  DISK_REMOVE,
};

// One change below the root. Names are relative to the root; the root itself is "".
struct disk_change {
  enum disk_kind kind;
  // Which file, whatever it is called by now; numbered in the order of their making.
  int node;
  long long offset;
  size_t count;
  const unsigned char *bytes;
  // Of a file that is made: its mode from its first moment.
  unsigned mode;
  const char *name;
  // Of a renaming: what it is called afterwards.
  const char *new_name;
};

// Whether the calls go through here; not in a program built with a sanitizer, which has its own.
int disk_is_interposed(void);

// Begins to record what happens below this directory, which has to exist. What is in it is taken as
// synced: its files are the first nodes, in the order of `disk_first_name`. NULL ends the recording;
// it can be read until the next one begins.
void disk_record(const char *root);
int disk_first_count(void);
const char *disk_first_name(int node);

int disk_change_count(void);
const struct disk_change *disk_change_at(int index);

// From now on, every call that would change something below this directory fails with this code.
// NULL: none does.
void disk_refuse(const char *root, int code);

// Calls so far: files and sockets, whatever they concern.
long disk_calls(void);

// The process ends by SIGKILL before the n-th call from now; 0: at none.
void disk_kill_at(long n);

// Takes orders from a socket, on a thread of its own: each is a `long` for `disk_kill_at`, and is
// answered by `disk_calls` as it was then. For a program whose tests are another process.
int disk_obey(int descriptor);
