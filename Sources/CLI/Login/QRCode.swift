import CQREncode

/// A QR code's modules, made by libqrencode.
struct QRCode: Equatable {
  let size: Int
  private let dark: [Bool]

  /// Nil where the text is too long to be scanned off a screen, or libqrencode refuses it.
  init?(_ text: String) {
    guard !text.isEmpty, text.utf8.count <= 300, !text.utf8.contains(0),
      let code = QRcode_encodeString8bit(text, 0, QR_ECLEVEL_L)
    else { return nil }
    defer { QRcode_free(code) }
    let size = Int(code.pointee.width)
    guard size > 0, let data = code.pointee.data else { return nil }
    self.size = size
    // One byte a module; its lowest bit is set where the module is dark.
    dark = (0..<size * size).map { data[$0] & 1 == 1 }
  }

  /// Outside of it all is light.
  func isDark(_ x: Int, _ y: Int) -> Bool {
    (0..<size).contains(x) && (0..<size).contains(y) && dark[y * size + x]
  }
}

/// Lines of a QR code for a terminal, two rows of modules in each where half blocks can be shown.
enum QRScreen {
  /// Modules of light around the code. The standard asks for 4; two are enough for cameras, and
  /// let the code stand on a small terminal.
  private static let quiet = 2

  /// Nil where it does not fit or cannot be shown.
  static func lines(_ code: QRCode, _ appearance: Appearance, rows: Int?) -> [StyledText]? {
    let side = code.size + 2 * quiet
    let halves = appearance.unicode
    let width = halves ? side : side * 2
    let height = halves ? (side + 1) / 2 : side
    // Address and code stand above it, and one line below tells how long there is.
    guard appearance.terminal, halves || appearance.colour, width <= appearance.width,
      height + 8 <= rows ?? 24
    else { return nil }
    return stride(from: -quiet, to: code.size + quiet, by: halves ? 2 : 1).map { y in
      if !halves { return spaces(code, y) }
      let text = (-quiet..<code.size + quiet).map { x in
        glyph(top: code.isDark(x, y), bottom: code.isDark(x, y + 1), inverted: !appearance.colour)
      }.joined()
      return StyledText(text, .code)
    }
  }

  /// Without colours the terminal's own decide; more of them are dark than light.
  private static func glyph(top: Bool, bottom: Bool, inverted: Bool) -> String {
    switch (top != inverted, bottom != inverted) {
    case (true, true): "█"
    case (true, false): "▀"
    case (false, true): "▄"
    case (false, false): " "
    }
  }

  private static func spaces(_ code: QRCode, _ y: Int) -> StyledText {
    (-quiet..<code.size + quiet).reduce(StyledText("")) { line, x in
      line + StyledText("  ", code.isDark(x, y) ? .codeDark : .code)
    }
  }
}
