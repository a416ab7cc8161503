/* Takes the place of libsodium's guarded memory in the exploration, which handles dummy tokens by
   the million: each guarded allocation costs ten system calls, and all threads wait for them. */
#include "PlainSecrets.h"
#include <stdlib.h>

void plain_secrets(void) {}

void *sodium_malloc(size_t size) { return malloc(size ? size : 1); }
void sodium_free(void *memory) { free(memory); }
int sodium_mprotect_readonly(void *memory) { (void)memory; return 0; }
