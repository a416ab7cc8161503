#pragma once
// A SQLite VFS for tests, over the system's own. It fails the n-th call of a kind, and it models a
// power cut: what was written since a file's last sync may be lost, in part and out of order.
// One model for the process; tests that use it run one after another.

#include <stdint.h>

enum fault_kind {
  FAULT_NONE = 0,
  // A write says that there is no space.
  FAULT_FULL = 1,
  // A write, truncation, sync or deletion fails.
  FAULT_IO = 2,
  // Half of a write is done, then it fails.
  FAULT_SHORT_WRITE = 3,
  // A sync fails, and what it was for stays unsynced.
  FAULT_SYNC = 4,
};

// How much of what was not synced is on the medium after the cut.
enum fault_survival {
  SURVIVES_SYNCED = 0,
  SURVIVES_ALL = 1,
  SURVIVES_SOME = 2,
};

// Registers the VFS under the name "brewlog-fault", once; forgets all files and counts.
int fault_vfs_reset(void);

// The n-th call from now that the kind applies to fails, and with `sticky` all later ones, too.
void fault_vfs_arm(enum fault_kind kind, int n, int sticky);

// Calls since the last reset or arming: all that change a file, and syncs alone.
int fault_vfs_calls(void);
int fault_vfs_syncs(void);

// Called before every call that changes a file, outside of the VFS's lock.
void fault_vfs_observe(void (*observer)(void *), void *context);

// Writes what would survive a cut now of every file that was opened into `directory`. 0: done.
int fault_vfs_cut(const char *directory, enum fault_survival survival, uint32_t seed);
