/// Finds what somebody may have meant by a name that is not known.
package enum Nearest {
  /// The known name with the fewest edits, letters' case aside; the first of several. Nil only where
  /// none is known.
  package static func name(to given: String, among known: [String]) -> String? {
    ranked(given, known)?.name
  }

  /// The same, if the edits are few for its length.
  package static func match(_ given: String, in known: [String]) -> String? {
    guard given.utf8.count <= longest, let best = ranked(given, known) else { return nil }
    return best.edits <= max(1, best.name.count / 3) ? best.name : nil
  }

  /// `; did you mean X?`, or nothing.
  package static func hint(_ given: String, in known: [String]) -> String {
    match(given, in: known).map { "; did you mean \($0)?" } ?? ""
  }

  /// No name that is known has so many bytes.
  private static let longest = 64

  private static func ranked(_ given: String, _ known: [String]) -> (name: String, edits: Int)? {
    let given = String(given.lowercased().prefix(longest))
    return known.map { (name: $0, edits: distance(given, $0.lowercased())) }
      .min { $0.edits < $1.edits }
  }

  /// Insertions, deletions, replacements and swaps of neighbours each count one.
  package static func distance(_ left: String, _ right: String) -> Int {
    let (a, b) = (Array(left), Array(right))
    var beforeLast: [Int] = []
    var last = Array(0...b.count)
    for i in a.indices {
      var row = [i + 1]
      for j in b.indices {
        var edits = min(last[j + 1] + 1, row[j] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
          edits = min(edits, beforeLast[j - 1] + 1)
        }
        row.append(edits)
      }
      (beforeLast, last) = (last, row)
    }
    return last[b.count]
  }
}
