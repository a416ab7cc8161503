// Times whole processes: `bench-spawn COUNT COMMAND…` runs the command COUNT times with its output
// thrown away, and prints the median in milliseconds.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int count, char **arguments) {
  int runs = count > 2 ? atoi(arguments[1]) : 0;
  if (runs < 1) {
    fprintf(stderr, "usage: bench-spawn COUNT COMMAND…\n");
    return 64;
  }
  double *times = calloc((size_t)runs, sizeof *times);
  posix_spawn_file_actions_t files;
  if (!times || posix_spawn_file_actions_init(&files) != 0 ||
      posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0) != 0 ||
      posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0) != 0)
    return 1;
  for (int i = 0; i < runs; i++) {
    pid_t child;
    int status;
    double start = now();
    int failure = posix_spawn(&child, arguments[2], &files, NULL, arguments + 2, environ);
    if (failure != 0) {
      fprintf(stderr, "bench-spawn: %s: %s\n", arguments[2], strerror(failure));
      return 1;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    times[i] = now() - start;
    if (status != 0) {
      fprintf(stderr, "bench-spawn: %s failed\n", arguments[2]);
      return 1;
    }
  }
  qsort(times, (size_t)runs, sizeof *times, compare);
  printf("%.4f\n", times[runs / 2]);
  return 0;
}
