#define _GNU_SOURCE
#include "chaos_mounts.h"

#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>

bool chaos_own_mounts(void) {
  return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

bool chaos_mount_disk(const char *path, unsigned kilobytes) {
  char options[64];
  snprintf(options, sizeof options, "size=%uk,mode=0700", kilobytes);
  return mount("none", path, "tmpfs", MS_NODEV | MS_NOSUID | MS_NOEXEC, options) == 0;
}

bool chaos_unmount(const char *path) { return umount2(path, MNT_DETACH) == 0; }

bool chaos_cover(const char *file, const char *place) {
  return mount(file, place, NULL, MS_BIND, NULL) == 0;
}
