import Session

/// Finds sealed pairs by their mark, wherever they may have been left: in a page that was not
/// wiped, a log, a backup, a file set aside.
enum SealedTraces {
  /// The sessions whose sealed pairs begin somewhere in these bytes.
  static func sessions(in bytes: [UInt8]) -> Set<SessionID> {
    let magic = SealedRecord.magic
    var found: Set<SessionID> = []
    guard bytes.count >= SealedRecord.headCount else { return found }
    var index = 0
    let last = bytes.count - SealedRecord.headCount
    bytes.withUnsafeBufferPointer { all in
      while index <= last {
        if all[index] == magic[0], all[index + 1] == magic[1], all[index + 2] == magic[2],
          all[index + 3] == magic[3],
          let session = SessionID(bytes: Array(all[(index + 4)..<(index + 20)]))
        {
          found.insert(session)
        }
        index += 1
      }
    }
    return found
  }
}
