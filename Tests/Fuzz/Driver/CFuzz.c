#include "CFuzz.h"

#include <stdio.h>

// From libFuzzer's runtime library (llvm.org/docs/LibFuzzer.html, "Using libFuzzer as a library").
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*one_input)(const uint8_t *, size_t));

// Written in Swift: 0, or 1 where there is no target of that name.
int32_t fuzz_one_input(const uint8_t *bytes, size_t count);
int32_t fuzz_knows_target(const char *name);

static const char *target_name = "";

const char *fuzz_target_name(void) { return target_name; }

static int one_input(const uint8_t *bytes, size_t count) {
  return fuzz_one_input(bytes, count);
}

// The package manager links an executable's start to this name (swift-package-manager, "main" of
// an executable that tests can import).
int Fuzz_main(int argc, char **argv) {
  if (argc < 2 || !fuzz_knows_target(argv[1])) {
    fprintf(stderr, "usage: Fuzz TARGET [libFuzzer's options and directories]\n");
    return 64;
  }
  target_name = argv[1];
  argv[1] = argv[0];
  argc--;
  argv++;
  return LLVMFuzzerRunDriver(&argc, &argv, one_input);
}
