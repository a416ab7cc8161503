/// The words of `Read=` and `Control=`: users, and groups as `@group`. Whether there is such a user
/// or group is found out by the daemon; one that does not resolve allows nobody.
enum AccessName {
  static func isEntry(_ word: some StringProtocol) -> Bool {
    isName(word.hasPrefix("@") ? String(word.dropFirst()) : String(word))
  }

  /// Letters, digits, `_`, `.`, `-` (not first), and a `$` at the end, as user databases have them;
  /// a number counts as one, too.
  static func isName(_ text: String) -> Bool {
    let stem = text.hasSuffix("$") ? text.dropLast() : text[...]
    guard let first = stem.utf8.first, stem.utf8.count <= 64, first != UInt8(ascii: "-") else {
      return false
    }
    return stem.utf8.allSatisfy { byte in
      isAlphanumeric(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".")
        || byte == UInt8(ascii: "-")
    }
  }
}
