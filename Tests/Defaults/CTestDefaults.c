#include "CTestDefaults.h"

#include <stdlib.h>

/* Before main: Swift Testing reads it once, when the run begins. Without a bound it starts all tests
 * at once, and each step of one waits for a step of every other: time limits then measure the
 * crowd. A width from outside wins. */
__attribute__((constructor)) static void set_test_defaults(void) {
  setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "4", 0);
}
