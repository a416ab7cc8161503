// The peer of `make bench` that does nothing but what any server must: epoll, one thread, and for
// each message that ends with a NUL byte the same reply, written once for all that were read at
// once. It is the limit of what this machine allows.
//
//   bench-peer SOCKET REPLY-FILE
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { max_batch = 64 };

static char *replies;
static size_t reply_bytes;

static void die(const char *what) {
  fprintf(stderr, "bench-peer: %s: %s\n", what, strerror(errno));
  exit(1);
}

static void read_reply(const char *file) {
  static char text[65536];
  FILE *in = fopen(file, "rb");
  if (!in) die(file);
  reply_bytes = fread(text, 1, sizeof text, in);
  fclose(in);
  replies = malloc(reply_bytes * max_batch);
  if (reply_bytes == 0 || !replies) die(file);
  for (size_t i = 0; i < max_batch; i++) memcpy(replies + reply_bytes * i, text, reply_bytes);
}

static void answer(int fd) {
  static char buffer[65536];
  ssize_t got = read(fd, buffer, sizeof buffer);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    close(fd);
    return;
  }
  size_t calls = 0;
  for (char *at = buffer, *end = buffer + got; (at = memchr(at, 0, (size_t)(end - at))); at++)
    calls++;
  while (calls > 0) {
    size_t batch = calls < max_batch ? calls : max_batch;
    size_t left = batch * reply_bytes;
    for (const char *at = replies; left > 0;) {
      ssize_t sent = write(fd, at, left);
      if (sent < 0) {
        if (errno == EAGAIN || errno == EINTR) continue;
        close(fd);
        return;
      }
      at += sent;
      left -= (size_t)sent;
    }
    calls -= batch;
  }
}

int main(int count, char **arguments) {
  if (count != 3) {
    fprintf(stderr, "usage: bench-peer SOCKET REPLY-FILE\n");
    return 64;
  }
  signal(SIGPIPE, SIG_IGN);
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  read_reply(arguments[2]);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(arguments[1]) >= sizeof address.sun_path) {
    fprintf(stderr, "bench-peer: the socket's path is too long\n");
    return 1;
  }
  strcpy(address.sun_path, arguments[1]);
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (listener < 0) die("socket");
  if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0) die("bind");
  if (listen(listener, 4096) != 0) die("listen");
  int poll_fd = epoll_create1(EPOLL_CLOEXEC);
  if (poll_fd < 0) die("epoll_create1");
  struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
  if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, listener, &event) != 0) die("epoll_ctl");
  for (;;) {
    struct epoll_event events[256];
    int ready = epoll_wait(poll_fd, events, 256, -1);
    for (int i = 0; i < ready; i++) {
      if (events[i].data.fd != listener) {
        answer(events[i].data.fd);
        continue;
      }
      int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) continue;
      event = (struct epoll_event){.events = EPOLLIN, .data.fd = fd};
      if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event) != 0) close(fd);
    }
  }
}
