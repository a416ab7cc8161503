/* That it is linked into the tests is enough; the rest is what Swift has no call for. */

/// Opens a new terminal's upper end (pty(7)) and writes the lower end's name; -1 with errno.
/// posix_openpt(3) is not in Glibc's Swift module.
int test_open_terminal(char *_Nonnull name, unsigned long size);

/* Which of these pieces, each of that length (two bytes at least), stands first in the bytes; -1:
 * none. */
int test_find_piece(
    const unsigned char *_Nonnull bytes, unsigned long count, const unsigned char *_Nonnull pieces,
    unsigned long pieces_count, unsigned long length);
