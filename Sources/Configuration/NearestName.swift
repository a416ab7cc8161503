/// The known name that takes the fewest edits to get to (letters' case aside); the first of
/// several. Nil only where none is known.
func nearestName(to name: String, among known: [String]) -> String? {
  var best: (name: String, distance: Int)?
  for candidate in known {
    let distance = editDistance(
      Array(name.lowercased().utf8), Array(candidate.lowercased().utf8))
    if best.map({ distance < $0.distance }) ?? true { best = (candidate, distance) }
  }
  return best?.name
}

/// Insertions, deletions and substitutions from one text to the other (Levenshtein), row by row. A
/// long name is cut: no key has that many letters.
func editDistance(_ left: [UInt8], _ right: [UInt8]) -> Int {
  let left = left.prefix(100)
  var row = Array(0...right.count)
  for (i, byte) in left.enumerated() {
    var diagonal = row[0]
    row[0] = i + 1
    for (j, other) in right.enumerated() {
      let substituted = diagonal + (byte == other ? 0 : 1)
      diagonal = row[j + 1]
      row[j + 1] = min(substituted, row[j + 1] + 1, row[j] + 1)
    }
  }
  return row[right.count]
}
