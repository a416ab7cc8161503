import CSQLite

extension Database {
  /// The main file as it stands, without the log.
  func fileBytes() throws(SQLiteError) -> [UInt8] {
    let connection = try open()
    let size = brewlog_sqlite_file_size(connection)
    guard size >= 0, size <= 1 << 30 else { throw error("read the file", SQLITE_IOERR) }
    var bytes = [UInt8](repeating: 0, count: Int(size))
    var offset = 0
    while offset < bytes.count {
      let count = min(1 << 16, bytes.count - offset)
      let code = bytes.withUnsafeMutableBytes { memory in
        brewlog_sqlite_file_read(
          connection, memory.baseAddress.map { $0 + offset }, Int32(count), Int64(offset))
      }
      guard code == SQLITE_OK else { throw error("read the file", code) }
      offset += count
    }
    return bytes
  }
}

/// The free pages of a database file (SQLite's file format, section 1.5): with `secure_delete` every
/// one of them is zeros, but for the list itself.
struct FreePages {
  let bytes: [UInt8]

  /// The numbers of free pages that still hold something.
  var unwiped: [Int] {
    guard bytes.count >= 100 else { return [] }
    let size = pageSize
    var found: [Int] = []
    var trunk = word(at: 32)
    var left = bytes.count / size
    while trunk != 0, left > 0, (trunk * size) <= bytes.count {
      left -= 1
      let start = (trunk - 1) * size
      let next = word(at: start)
      let count = min(word(at: start + 4), size / 4 - 2)
      if hasContent(from: start + 8 + 4 * count, to: start + size) { found.append(trunk) }
      for index in 0..<count {
        let leaf = word(at: start + 8 + 4 * index)
        guard leaf > 0, leaf * size <= bytes.count else { continue }
        if hasContent(from: (leaf - 1) * size, to: leaf * size) { found.append(leaf) }
      }
      trunk = next
    }
    return found
  }

  private var pageSize: Int {
    let stored = Int(bytes[16]) << 8 | Int(bytes[17])
    return stored == 1 ? 65536 : max(512, stored)
  }

  private func word(at offset: Int) -> Int {
    bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
  }

  private func hasContent(from start: Int, to end: Int) -> Bool {
    bytes[start..<end].contains { $0 != 0 }
  }
}
