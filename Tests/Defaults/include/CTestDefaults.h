/* Nothing to call: that it is linked into the tests is enough. */

/// Opens a new terminal's upper end (pty(7)) and writes the lower end's name; -1 with errno.
/// posix_openpt(3) is not in Glibc's Swift module.
int test_open_terminal(char *_Nonnull name, unsigned long size);
