/// How many columns of a terminal text takes: 0 for marks that take no space, 2 for East Asian wide
/// and full-width characters and for emoji, 1 for the rest. It follows Unicode's annexes 11 (W and
/// F) and 51, and adds up within a cluster as wcswidth(3) does; terminals differ on joined emoji,
/// and two columns is what most of them use.
package enum DisplayWidth {
  package static func of(_ text: String) -> Int {
    text.reduce(0) { $0 + of($1) }
  }

  package static func of(_ character: Character) -> Int {
    if let ascii = character.asciiValue { return ascii < 0x20 || ascii == 0x7F ? 0 : 1 }
    var width = 0
    for scalar in character.unicodeScalars {
      if scalar == "\u{FE0F}" && width > 0 { return 2 }
      if scalar.properties.isEmojiPresentation { return 2 }
      width += columns(scalar)
    }
    return width
  }

  private static func columns(_ scalar: Unicode.Scalar) -> Int {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format, .control: return 0
    default: break
    }
    let value = scalar.value
    if value < 0x1100 { return 1 }
    // Conjoining vowels and finals are drawn into the syllable's square.
    if (0x1160...0x11FF).contains(value) { return 0 }
    // The ranges are sorted: the last one that begins at or before the scalar decides.
    var low = 0
    var high = wide.count
    while low < high {
      let middle = (low + high) / 2
      if wide[middle].lowerBound <= value { low = middle + 1 } else { high = middle }
    }
    return low > 0 && wide[low - 1].contains(value) ? 2 : 1
  }

  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x231A...0x231B, 0x2329...0x232A, 0x23E9...0x23EC, 0x2E80...0x2E99,
    0x2E9B...0x2EF3, 0x2F00...0x2FD5, 0x2FF0...0x303E, 0x3041...0x3096, 0x3099...0x30FF,
    0x3105...0x312F, 0x3131...0x318E, 0x3190...0x31E5, 0x31EF...0x321E, 0x3220...0x3247,
    0x3250...0xA48C, 0xA490...0xA4C6, 0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF,
    0xFE10...0xFE19, 0xFE30...0xFE52, 0xFE54...0xFE66, 0xFE68...0xFE6B, 0xFF01...0xFF60,
    0xFFE0...0xFFE6, 0x16FE0...0x16FE4, 0x16FF0...0x16FF6, 0x17000...0x18CD5, 0x18CFF...0x18D1E,
    0x18D80...0x18DF2, 0x1AFF0...0x1AFFE, 0x1B000...0x1B122, 0x1B132...0x1B132,
    0x1B150...0x1B152, 0x1B155...0x1B155, 0x1B164...0x1B167, 0x1B170...0x1B2FB,
    0x1D300...0x1D376, 0x1F200...0x1F202, 0x1F210...0x1F23B, 0x1F240...0x1F248,
    0x1F250...0x1F251, 0x1F260...0x1F265, 0x1F300...0x1F64F, 0x1F680...0x1F6FF,
    0x1F900...0x1F9FF, 0x1FA70...0x1FAFF, 0x20000...0x2FFFD, 0x30000...0x3FFFD,
  ]
}
