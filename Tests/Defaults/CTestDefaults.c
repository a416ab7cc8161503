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

#include <string.h>

int test_find_piece(
    const unsigned char *bytes, unsigned long count, const unsigned char *pieces, unsigned long pieces_count,
    unsigned long length) {
  /* Which pairs of first bytes there are: nearly every place is passed over by one look. */
  static _Thread_local unsigned char begins[8192];
  memset(begins, 0, sizeof begins);
  for (unsigned long i = 0; i < pieces_count; i++) {
    unsigned pair = (unsigned)pieces[i * length] << 8 | pieces[i * length + 1];
    begins[pair >> 3] |= (unsigned char)(1 << (pair & 7));
  }
  for (unsigned long at = 0; at + length <= count; at++) {
    unsigned pair = (unsigned)bytes[at] << 8 | bytes[at + 1];
    if (!(begins[pair >> 3] >> (pair & 7) & 1)) continue;
    for (unsigned long i = 0; i < pieces_count; i++) {
      if (memcmp(bytes + at, pieces + i * length, length) == 0) return (int)i;
    }
  }
  return -1;
}
