// What is used of libsystemd, behind plain C: its own headers bring half of the C library's with
// them, and Swift then finds those names in this module instead of Glibc.
#pragma once
#include <stddef.h>
#include <stdint.h>

// sd_notify(3). Zero where nobody listens, else positive, or a negative errno.
int csystemd_notify(const char *state);

// sd_watchdog_enabled(3).
int csystemd_watchdog(uint64_t *microseconds);

// sd_listen_fds(3); the variables are removed, whatever is in them.
int csystemd_take_passed_descriptors(void);

// SD_LISTEN_FDS_START.
int csystemd_first_passed_descriptor(void);

// sd_journal_sendv(3): `count` fields, one behind the other in `bytes`, each of the length that
// `lengths` says.
int csystemd_journal_send(const char *bytes, const size_t *lengths, size_t count);
