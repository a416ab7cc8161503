#define _GNU_SOURCE
#include "CTestDefaults.h"

#include <stdlib.h>

/* Before main: Swift Testing reads it once, when the run begins. Without a bound it starts all tests
 * at once, and each step of one waits for a step of every other: time limits then measure the
 * crowd. A width from outside wins. */
__attribute__((constructor)) static void set_test_defaults(void) {
  setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "4", 0);
}

#include <fcntl.h>
#include <unistd.h>

int test_open_terminal(char *name, unsigned long size) {
  int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0) return -1;
  if (grantpt(terminal) == 0 && unlockpt(terminal) == 0 && ptsname_r(terminal, name, size) == 0)
    return terminal;
  close(terminal);
  return -1;
}
