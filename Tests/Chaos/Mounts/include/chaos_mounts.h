#pragma once
#include <stdbool.h>

// Mounts that only this process and its children see, and that go with the last of them: nothing is
// left behind, whatever happens. Each is false where the system does not allow it (errno says why).

// To be called before there is a second thread: a thread that exists already stays outside.
bool chaos_own_mounts(void);
// A small disk of memory, for root alone.
bool chaos_mount_disk(const char *path, unsigned kilobytes);
bool chaos_unmount(const char *path);
// Shows `file` in the place of `place`.
bool chaos_cover(const char *file, const char *place);
