#define _GNU_SOURCE
#include "CSystemd.h"

#include <errno.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>

// More fields than any entry of ours has.
#define MOST_FIELDS 32

int csystemd_notify(const char *state) { return sd_notify(0, state); }

int csystemd_watchdog(uint64_t *microseconds) { return sd_watchdog_enabled(0, microseconds); }

int csystemd_take_passed_descriptors(void) { return sd_listen_fds(1); }

int csystemd_first_passed_descriptor(void) { return SD_LISTEN_FDS_START; }

int csystemd_journal_send(const char *bytes, const size_t *lengths, size_t count) {
  struct iovec vectors[MOST_FIELDS];
  if (count > MOST_FIELDS) return -E2BIG;
  for (size_t i = 0; i < count; i++) {
    vectors[i].iov_base = (char *)bytes;
    vectors[i].iov_len = lengths[i];
    bytes += lengths[i];
  }
  // In parentheses: the function, not the macro that adds this file's name to every entry.
  return (sd_journal_sendv)(vectors, (int)count);
}
