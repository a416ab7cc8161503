#pragma once
// A SQLite VFS for tests, over the system's own, that fails the n-th call of a kind.
// One for the process; tests that use it run one after another.

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
  // Every read fails, whatever `n` says.
  FAULT_READ = 5,
};

// Registers the VFS under the name "brewlog-fault", once; forgets all counts.
int fault_vfs_reset(void);

// The n-th call from now that the kind applies to fails, and with `sticky` all later ones, too.
void fault_vfs_arm(enum fault_kind kind, int n, int sticky);

// Calls since the last reset or arming: all that change a file, and syncs alone.
int fault_vfs_calls(void);
int fault_vfs_syncs(void);
