import Glibc

/// The three descriptors that every program takes for granted.
package enum StandardDescriptors {
  /// Takes those of 0, 1 and 2 that the program was started without (`>&-`). Left free, the next
  /// file or socket would get that number: what is meant for people would be written to the daemon,
  /// or into the store.
  ///
  /// What takes their place can be neither read from nor written to as the missing one would be, so
  /// output that cannot arrive is still an error (EBADF) and not thrown away unseen. Before anything
  /// else is opened; once is enough.
  package static func occupy() throws(SystemError) {
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
    where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
      // The lowest free number is this one: those below it are taken by now.
      let direction = descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY
      guard open("/dev/null", direction) == descriptor else {
        throw .last("open /dev/null in place of descriptor \(descriptor)")
      }
    }
  }
}
