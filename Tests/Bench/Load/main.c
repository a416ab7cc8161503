// The load generator of `make bench`: many connections to a Unix socket, one thread, one request
// text sent again and again. It prints one line of JSON. What it measures must be the server, so it
// allocates nothing and formats nothing while it runs.
//
//   bench-load SOCKET REQUEST-FILE [--connections N] [--pipeline N] [--seconds S] [--calls N]
//              [--rate CALLS-PER-SECOND] [--reply-bytes N] [--idle N] [--herd] [--reconnect]
//
// A reply ends with a NUL byte (Varlink), or after --reply-bytes bytes (the peers', all alike).
// Without --rate each connection keeps --pipeline calls under way (closed loop). With it, calls are
// due at even times, whatever the server does, and a call's time counts from when it was due: a
// server that pauses is not excused (open loop, no coordinated omission). --herd sends one call on
// each connection, all at once, and waits for all replies. --idle opens connections that do nothing.
// --reconnect sends one call at a time, each on a connection of its own, as short-lived clients do;
// what the first read gives is the reply.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { max_depth = 64, read_bytes = 256 * 1024, buckets = 64 * 32 };

struct connection {
  int fd;
  int under_way;             // calls sent and not answered
  size_t reply_seen;         // bytes of the present reply, with --reply-bytes
  unsigned head;             // of `started`, a ring
  uint64_t started[max_depth];  // when each call under way began, or was due
};

static struct {
  const char *path;
  char *request;             // `max_depth` copies of the request, one behind the other
  size_t request_bytes;
  long connections, pipeline, calls, rate, idle, reply_bytes;
  double seconds;
  int herd, reconnect;
} options = {.connections = 1, .pipeline = 1, .seconds = 1};

static struct connection *connections;
static int poll_fd;
static char buffer[read_bytes];
static uint64_t answered, histogram[buckets];

static void die(const char *what) {
  fprintf(stderr, "bench-load: %s: %s\n", what, strerror(errno));
  exit(1);
}

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// 32 buckets for each power of two of nanoseconds: within 3 % of the true value.
static void record(uint64_t ns) {
  if (ns < 32) ns = 32;
  int power = 63 - __builtin_clzll(ns);
  histogram[(power - 5) * 32 + (int)((ns >> (power - 5)) & 31)]++;
}

static double percentile(double share) {
  uint64_t wanted = (uint64_t)(share * (double)answered), seen = 0;
  for (int i = 0; i < buckets; i++) {
    seen += histogram[i];
    if (seen > wanted) {
      int power = i / 32 + 5;
      return (double)((uint64_t)(32 + i % 32) << (power - 5)) / 1000.0;
    }
  }
  return 0;
}

static int open_connection(int nonblocking) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(options.path) >= sizeof address.sun_path) {
    fprintf(stderr, "bench-load: the socket's path is too long\n");
    exit(1);
  }
  strcpy(address.sun_path, options.path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) die("socket");
  while (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
    if (errno != EAGAIN && errno != EINTR) die("connect");
    usleep(1000);
  }
  if (nonblocking && fcntl(fd, F_SETFL, O_NONBLOCK) != 0) die("fcntl");
  return fd;
}

// Sends `count` calls at once. Requests are short and the socket's buffer is not, so that a part
// left over is rare; it is then sent with patience.
static void send_calls(struct connection *c, int count, uint64_t started) {
  for (int i = 0; i < count; i++)
    c->started[(c->head + (unsigned)(c->under_way + i)) % max_depth] = started;
  c->under_way += count;
  size_t left = options.request_bytes * (size_t)count;
  const char *bytes = options.request;
  while (left > 0) {
    ssize_t sent = write(c->fd, bytes, left);
    if (sent < 0) {
      if (errno != EAGAIN && errno != EINTR) die("write");
      continue;
    }
    bytes += sent;
    left -= (size_t)sent;
  }
}

static int count_replies(struct connection *c, size_t bytes) {
  int count = 0;
  if (options.reply_bytes > 0) {
    c->reply_seen += bytes;
    while (c->reply_seen >= (size_t)options.reply_bytes) {
      c->reply_seen -= (size_t)options.reply_bytes;
      count++;
    }
    return count;
  }
  for (char *at = buffer, *end = buffer + bytes; (at = memchr(at, 0, (size_t)(end - at))); at++)
    count++;
  return count;
}

// Reads what is there; returns how many replies were whole.
static int receive(struct connection *c) {
  ssize_t got = read(c->fd, buffer, sizeof buffer);
  if (got < 0) {
    if (errno == EAGAIN || errno == EINTR) return 0;
    die("read");
  }
  if (got == 0) {
    fprintf(stderr, "bench-load: the server closed a connection\n");
    exit(1);
  }
  int count = count_replies(c, (size_t)got);
  if (count > c->under_way) {
    fprintf(stderr, "bench-load: more replies than calls\n");
    exit(1);
  }
  uint64_t at = now();
  for (int i = 0; i < count; i++) {
    record(at - c->started[c->head]);
    c->head = (c->head + 1) % max_depth;
  }
  c->under_way -= count;
  answered += (uint64_t)count;
  return count;
}

static void wait_for_replies(int timeout, int refill) {
  struct epoll_event events[256];
  int count = epoll_wait(poll_fd, events, 256, timeout);
  for (int i = 0; i < count; i++) {
    struct connection *c = &connections[events[i].data.u32];
    int replies = receive(c);
    if (refill && replies > 0) send_calls(c, replies, now());
  }
}

static void closed_loop(void) {
  uint64_t end = now() + (uint64_t)(options.seconds * 1e9);
  for (long i = 0; i < options.connections; i++)
    send_calls(&connections[i], (int)options.pipeline, now());
  while (options.calls > 0 ? answered < (uint64_t)options.calls : now() < end)
    wait_for_replies(100, 1);
}

static void open_loop(void) {
  uint64_t start = now(), sent = 0;
  uint64_t total = (uint64_t)((double)options.rate * options.seconds);
  double step = 1e9 / (double)options.rate;
  long next = 0;
  while (answered < total) {
    uint64_t due = start + (uint64_t)((double)sent * step);
    if (sent < total && now() >= due) {
      // The next connection that has room; if none has, the call waits and its time runs.
      for (long tried = 0; tried < options.connections; tried++) {
        struct connection *c = &connections[next];
        next = (next + 1) % options.connections;
        if (c->under_way == max_depth) continue;
        send_calls(c, 1, due);
        sent++;
        break;
      }
    }
    wait_for_replies(0, 0);
  }
}

static void herd(void) {
  uint64_t start = now();
  for (long i = 0; i < options.connections; i++) send_calls(&connections[i], 1, start);
  while (answered < (uint64_t)options.connections) wait_for_replies(1000, 0);
}

static void reconnecting_loop(void) {
  uint64_t end = now() + (uint64_t)(options.seconds * 1e9);
  for (uint64_t start = now(); start < end; start = now()) {
    int fd = open_connection(0);
    if (write(fd, options.request, options.request_bytes) != (ssize_t)options.request_bytes)
      die("write");
    if (read(fd, buffer, sizeof buffer) <= 0) die("read");
    close(fd);
    record(now() - start);
    answered++;
  }
}

static void read_request(const char *file) {
  FILE *in = fopen(file, "rb");
  if (!in) die(file);
  size_t bytes = fread(buffer, 1, sizeof buffer, in);
  fclose(in);
  options.request_bytes = bytes;
  options.request = malloc(bytes * max_depth);
  if (bytes == 0 || !options.request) die(file);
  for (int i = 0; i < max_depth; i++) memcpy(options.request + bytes * (size_t)i, buffer, bytes);
}

static void read_options(int count, char **arguments) {
  if (count < 3) {
    fprintf(stderr, "usage: bench-load SOCKET REQUEST-FILE [options]; main.c lists them\n");
    exit(64);
  }
  options.path = arguments[1];
  for (int i = 3; i < count; i++) {
    const char *name = arguments[i];
    if (strcmp(name, "--herd") == 0) {
      options.herd = 1;
      continue;
    }
    if (strcmp(name, "--reconnect") == 0) {
      options.reconnect = 1;
      continue;
    }
    double value = i + 1 < count ? atof(arguments[++i]) : -1;
    if (value < 0) {
      fprintf(stderr, "bench-load: %s needs a number\n", name);
      exit(64);
    }
    if (strcmp(name, "--connections") == 0) options.connections = (long)value;
    else if (strcmp(name, "--pipeline") == 0) options.pipeline = (long)value;
    else if (strcmp(name, "--calls") == 0) options.calls = (long)value;
    else if (strcmp(name, "--rate") == 0) options.rate = (long)value;
    else if (strcmp(name, "--idle") == 0) options.idle = (long)value;
    else if (strcmp(name, "--reply-bytes") == 0) options.reply_bytes = (long)value;
    else if (strcmp(name, "--seconds") == 0) options.seconds = value;
    else {
      fprintf(stderr, "bench-load: no option %s\n", name);
      exit(64);
    }
  }
  if (options.connections < 1 || options.pipeline < 1 || options.pipeline > max_depth) {
    fprintf(stderr, "bench-load: at least 1 connection, and a pipeline of 1 to %d\n", max_depth);
    exit(64);
  }
  read_request(arguments[2]);
}

int main(int count, char **arguments) {
  read_options(count, arguments);
  signal(SIGPIPE, SIG_IGN);
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  poll_fd = epoll_create1(EPOLL_CLOEXEC);
  if (poll_fd < 0) die("epoll_create1");
  connections = calloc((size_t)options.connections, sizeof *connections);
  if (!connections) die("calloc");
  for (long i = 0; i < options.connections && !options.reconnect; i++) {
    connections[i].fd = open_connection(1);
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
    if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, connections[i].fd, &event) != 0) die("epoll_ctl");
  }
  for (long i = 0; i < options.idle; i++) open_connection(0);
  uint64_t start = now();
  if (options.reconnect) reconnecting_loop();
  else if (options.herd) herd();
  else if (options.rate > 0) open_loop();
  else closed_loop();
  double seconds = (double)(now() - start) / 1e9;
  printf("{\"calls\":%llu,\"seconds\":%.6f,\"perSecond\":%.1f,"
         "\"p50\":%.2f,\"p99\":%.2f,\"p999\":%.2f}\n",
         (unsigned long long)answered, seconds, (double)answered / seconds, percentile(0.5),
         percentile(0.99), percentile(0.999));
  return 0;
}
