/// Finds what somebody may have meant.
package enum Nearest {
  /// The candidate with the fewest edits, if they are few for its length.
  package static func match(_ word: String, in candidates: [String]) -> String? {
    if word.utf8.count > 64 { return nil }
    let lowered = word.lowercased()
    let ranked = candidates.map { (name: $0, edits: distance(lowered, $0.lowercased())) }
    guard let best = ranked.min(by: { $0.edits < $1.edits }) else { return nil }
    return best.edits <= max(1, best.name.count / 3) ? best.name : nil
  }

  /// `; did you mean X?`, or nothing.
  package static func hint(_ word: String, in candidates: [String]) -> String {
    match(word, in: candidates).map { "; did you mean \($0)?" } ?? ""
  }

  /// Insertions, deletions, replacements and swaps of neighbours each count one.
  private static func distance(_ left: String, _ right: String) -> Int {
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
