import Glibc

// Names are the caller's own constants, never a peer's words: a slash in one is a fault of the
// program.

extension SecureDirectory {
  /// Makes a new file, 0600, with these bytes, and syncs it and its name. Fails with EEXIST if there
  /// is one, and leaves none behind if it fails otherwise.
  package func create(
    _ name: String, with bytes: UnsafeRawBufferPointer
  ) throws(DirectoryError) {
    let file = try makeFile(name)
    do throws(DirectoryError) {
      try write(bytes, to: file.rawValue, name)
      try sync(file.rawValue, name)
      try sync()
    } catch {
      unlinkat(descriptor, name, 0)
      throw error
    }
  }

  package func create(_ name: String, with bytes: [UInt8]) throws(DirectoryError) {
    try borrowing(bytes) { (raw) throws(DirectoryError) in try create(name, with: raw) }
  }

  /// Puts these bytes in the place of the file, whole or not at all, whatever happens meanwhile: a
  /// temporary file (`name` + ".new"), synced, then renamed, and the directory synced.
  package func replace(
    _ name: String, with bytes: UnsafeRawBufferPointer
  ) throws(DirectoryError) {
    let temporary = name + ".new"
    // One that a crash has left.
    guard unlinkat(descriptor, temporary, 0) == 0 || errno == ENOENT else {
      throw .system(.last("remove \(path(of: temporary))"))
    }
    try create(temporary, with: bytes)
    do throws(DirectoryError) {
      try rename(temporary, to: name)
    } catch {
      // Gone where the rename was done and only its sync has failed.
      unlinkat(descriptor, temporary, 0)
      throw error
    }
  }

  package func replace(_ name: String, with bytes: [UInt8]) throws(DirectoryError) {
    try borrowing(bytes) { (raw) throws(DirectoryError) in try replace(name, with: raw) }
  }

  /// Writes over the beginning of an existing file, in place, and syncs it: needs no space, where
  /// the file system overwrites in place.
  package func overwrite(
    _ name: String, with bytes: UnsafeRawBufferPointer
  ) throws(DirectoryError) {
    guard let file = try open(name, O_WRONLY) else { throw .missing(path: path(of: name)) }
    try requireFile(file.rawValue, name)
    try write(bytes, to: file.rawValue, name)
    try sync(file.rawValue, name)
  }

  package func overwrite(_ name: String, with bytes: [UInt8]) throws(DirectoryError) {
    try borrowing(bytes) { (raw) throws(DirectoryError) in try overwrite(name, with: raw) }
  }

  /// Makes what a library has written to a file survive a power cut.
  package func sync(_ name: String) throws(DirectoryError) {
    guard let file = try open(name, O_RDONLY) else { throw .missing(path: path(of: name)) }
    try sync(file.rawValue, name)
  }

  /// Reads the whole file into memory of the caller's (which may be wiped later). The count, or nil
  /// if there is no file; one that is longer than the memory is an error, never cut.
  package func read(
    _ name: String, into memory: UnsafeMutableRawBufferPointer
  ) throws(DirectoryError) -> Int? {
    guard let file = try open(name, O_RDONLY) else { return nil }
    try requireFile(file.rawValue, name)
    let count = try fill(memory, from: file.rawValue, name)
    guard count == memory.count else { return count }
    var beyond: UInt8 = 0
    let more = retryingInterrupts { Glibc.read(file.rawValue, &beyond, 1) }
    if more < 0 { throw .system(.last("read \(path(of: name))")) }
    if more > 0 { throw .tooLarge(path: path(of: name), limit: memory.count) }
    return count
  }

  /// The same for what is not secret. Takes the memory that the file needs, not `limit`.
  package func read(_ name: String, limit: Int) throws(DirectoryError) -> [UInt8]? {
    guard let file = try open(name, O_RDONLY) else { return nil }
    try requireFile(file.rawValue, name)
    var status = stat()
    guard fstat(file.rawValue, &status) == 0 else {
      throw .system(.last("look at \(path(of: name))"))
    }
    let size = Int(status.st_size)
    guard size <= limit else { throw .tooLarge(path: path(of: name), limit: limit) }
    var bytes = [UInt8](repeating: 0, count: size)
    let result = bytes.withUnsafeMutableBytes { memory -> Result<Int, DirectoryError> in
      do throws(DirectoryError) {
        return .success(try fill(memory, from: file.rawValue, name))
      } catch {
        return .failure(error)
      }
    }
    bytes.removeSubrange(try result.get()...)
    return bytes
  }

  private func fill(
    _ memory: UnsafeMutableRawBufferPointer, from raw: Int32, _ name: String
  ) throws(DirectoryError) -> Int {
    var count = 0
    while count < memory.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: memory[count...])
      let got = retryingInterrupts { Glibc.read(raw, rest.baseAddress, rest.count) }
      if got < 0 { throw .system(.last("read \(path(of: name))")) }
      if got == 0 { break }
      count += got
    }
    return count
  }

  /// Renames within the directory, replacing what has the new name, and syncs.
  package func rename(_ name: String, to newName: String) throws(DirectoryError) {
    guard renameat(descriptor, name, descriptor, newName) == 0 else {
      throw .system(.last("rename \(path(of: name)) to \(newName)"))
    }
    try sync()
  }

  /// Removes the name and syncs. A file that is gone already is a success, and its absence is synced
  /// all the same: whoever removed it may not have come so far.
  package func remove(_ name: String) throws(DirectoryError) {
    guard unlinkat(descriptor, name, 0) == 0 || errno == ENOENT else {
      throw .system(.last("remove \(path(of: name))"))
    }
    try sync()
  }

  /// Writes zeros over the file, then removes it and syncs. Where the zeros cannot be written (a
  /// full disk that copies on write) the file is removed none the less: what makes a key unreadable
  /// for good is the medium's affair, and that its name is gone is what counts.
  package func destroy(_ name: String) throws(DirectoryError) {
    if let file = try? open(name, O_WRONLY) {
      var status = stat()
      if fstat(file.rawValue, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
        // A key's file is small; a foreign large one is not worth minutes of zeros.
        let zeros = [UInt8](repeating: 0, count: min(Int(status.st_size), 1 << 20))
        try? borrowing(zeros) { (raw) throws(DirectoryError) in
          try write(raw, to: file.rawValue, name)
          try sync(file.rawValue, name)
        }
      }
    }
    try remove(name)
  }

  // MARK: Parts

  private func makeFile(_ name: String) throws(DirectoryError) -> FileDescriptor {
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let raw = retryingInterrupts { openat(descriptor, name, flags, 0o600) }
    guard raw >= 0 else { throw .system(.last("create \(path(of: name))")) }
    return FileDescriptor(owning: raw)
  }

  private func requireFile(_ raw: Int32, _ name: String) throws(DirectoryError) {
    _ = try SecureDirectory.secure(raw, path: path(of: name), kind: S_IFREG)
  }

  private func write(
    _ bytes: UnsafeRawBufferPointer, to raw: Int32, _ name: String
  ) throws(DirectoryError) {
    var written = 0
    while written < bytes.count {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
      let count = retryingInterrupts { Glibc.write(raw, rest.baseAddress, rest.count) }
      if count < 0 { throw .system(.last("write \(path(of: name))")) }
      written += count
    }
  }

  private func sync(_ raw: Int32, _ name: String) throws(DirectoryError) {
    guard retryingInterrupts({ fsync(raw) }) == 0 else {
      throw .system(.last("sync \(path(of: name))"))
    }
  }

  /// `withUnsafeBytes` loses the error's type.
  private func borrowing(
    _ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws(DirectoryError) -> Void
  ) throws(DirectoryError) {
    let result = bytes.withUnsafeBytes { raw -> Result<Void, DirectoryError> in
      do throws(DirectoryError) {
        return .success(try body(raw))
      } catch {
        return .failure(error)
      }
    }
    try result.get()
  }
}
