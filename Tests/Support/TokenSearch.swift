import CTestDefaults
import FoundationEssentials

/// Looks for tokens where none may be (I10): as they are, backwards, in hexadecimal and in base64,
/// and not only whole: any eight bytes of one in a row are a find.
///
///     let search = TokenSearch(["dummy-access-0", "dummy-refresh-0"])
///     #expect(search.find(in: bytes) == nil)
package struct TokenSearch: Sendable {
  /// How many bytes of a token in a row give it away.
  package static let pieceLength = 8

  /// Pieces of one length, one after the other.
  private struct Pieces {
    var form: String
    var length: Int
    var bytes: [UInt8] = []

    mutating func add(_ text: [UInt8]) {
      for start in 0..<max(0, text.count - length + 1) {
        let piece = text[start..<start + length]
        if !piece.contains(TokenSearch.common) { bytes += piece }
      }
    }
  }

  /// A word that the dummies share with ordinary text: with it, the byte before a word that is in
  /// every history would now and then make a piece.
  private static let common = Array("refresh".utf8)

  private let all: [Pieces]

  package init(_ tokens: some Sequence<String>) {
    var raw = Pieces(form: "as it is", length: Self.pieceLength)
    var reversed = Pieces(form: "backwards", length: Self.pieceLength)
    var hexadecimal = Pieces(form: "in hexadecimal", length: 2 * Self.pieceLength)
    var base64 = Pieces(form: "in base64", length: Self.pieceLength)
    for token in tokens {
      let bytes = Array(token.utf8)
      raw.add(bytes)
      reversed.add(bytes.reversed())
      let digits = bytes.flatMap { byte in
        [byte >> 4, byte & 15].map { Array("0123456789abcdef".utf8)[Int($0)] }
      }
      hexadecimal.add(digits)
      hexadecimal.add(digits.map { (0x61...0x66).contains($0) ? $0 - 0x20 : $0 })
      for phase in 0..<3 { base64.add(Self.base64(bytes, phase)) }
    }
    all = [raw, reversed, hexadecimal, base64]
  }

  /// In which form, and which piece; nil where there is none.
  package func find(in bytes: [UInt8]) -> String? {
    for pieces in all {
      let index = bytes.withUnsafeBytes { raw in
        let memory = raw.bindMemory(to: UInt8.self)
        guard let start = memory.baseAddress else { return Int32(-1) }
        return test_find_piece(
          start, UInt(memory.count), pieces.bytes, UInt(pieces.bytes.count / pieces.length),
          UInt(pieces.length))
      }
      guard index >= 0 else { continue }
      let start = Int(index) * pieces.length
      let piece = pieces.bytes[start..<start + pieces.length]
      return "\(pieces.form): \(String(decoding: piece, as: UTF8.self))"
    }
    return nil
  }

  /// The characters that do not depend on what stands before and after the token. The first byte of
  /// a text may come at any of three places.
  private static func base64(_ bytes: [UInt8], _ phase: Int) -> [UInt8] {
    let padded = [UInt8](repeating: 0, count: phase) + bytes
    let text = Array(Data(padded).base64EncodedString().utf8.filter { $0 != UInt8(ascii: "=") })
    let end = padded.count / 3 * 4
    return Array(text[min(phase == 0 ? 0 : phase + 1, end)..<end])
  }
}
