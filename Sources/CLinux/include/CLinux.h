// What Glibc's Swift module hides. `_GNU_SOURCE` is defined in the .c alone: in a header that Swift
// imports it breaks debug builds.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

// The kernel's record of who connected: SO_PEERCRED, unix(7).
struct clinux_peer {
  int32_t pid;
  uint32_t uid;
  uint32_t gid;
};

// accept4(2), non-blocking and close-on-exec. Minus one with errno set.
int clinux_accept(int listener);

// Zero, or minus one with errno set.
int clinux_peer_credentials(int descriptor, struct clinux_peer *out);

// SO_PEERGROUPS. `count` is the room in `groups`; on return, how many there are. With errno ERANGE
// the room was too small.
int clinux_peer_groups(int descriptor, uint32_t *groups, size_t *count);

// No core, no ptrace by the same user: PR_SET_DUMPABLE 0, RLIMIT_CORE 0. Zero, or minus one with
// errno set.
int clinux_forbid_dumps(void);

// Names the calling thread for top and gdb; at most 15 bytes are kept.
void clinux_name_thread(const char *name);

// Gives the kernel back what the allocator holds and nobody uses, malloc_trim(3).
void clinux_return_memory(void);

// A socket that gets a message whenever a link, an address or a route of this host changes:
// rtnetlink(7). Non-blocking, close-on-exec. Minus one with errno set.
int clinux_watch_network(void);
