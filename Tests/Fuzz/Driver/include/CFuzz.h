// libFuzzer's entry, called from the program's own main so that one program can hold all targets.
#ifndef CFUZZ_H
#define CFUZZ_H

#include <stddef.h>
#include <stdint.h>

// The name of the target: the program's first argument.
const char *fuzz_target_name(void);

#endif
