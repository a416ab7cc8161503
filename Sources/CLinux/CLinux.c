#define _GNU_SOURCE
#include "CLinux.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

int clinux_accept(int listener) {
  return accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int clinux_peer_credentials(int descriptor, struct clinux_peer *out) {
  struct ucred credentials;
  socklen_t size = sizeof credentials;
  if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return -1;
  out->pid = credentials.pid;
  out->uid = credentials.uid;
  out->gid = credentials.gid;
  return 0;
}

int clinux_peer_groups(int descriptor, uint32_t *groups, size_t *count) {
  socklen_t size = (socklen_t)(*count * sizeof(gid_t));
  int result = getsockopt(descriptor, SOL_SOCKET, SO_PEERGROUPS, groups, &size);
  *count = size / sizeof(gid_t);
  return result;
}

int clinux_forbid_dumps(void) {
  struct rlimit none = {0, 0};
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return -1;
  return setrlimit(RLIMIT_CORE, &none);
}

void clinux_name_thread(const char *name) {
  char kept[16];
  snprintf(kept, sizeof kept, "%s", name);
  pthread_setname_np(pthread_self(), kept);
}

void clinux_return_memory(void) { malloc_trim(0); }

int clinux_watch_network(void) {
  struct sockaddr_nl address = {
      .nl_family = AF_NETLINK,
      .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_IFADDR |
                   RTMGRP_IPV6_ROUTE,
  };
  int watch = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (watch < 0) return -1;
  if (bind(watch, (struct sockaddr *)&address, sizeof address) != 0) {
    close(watch);
    return -1;
  }
  return watch;
}
