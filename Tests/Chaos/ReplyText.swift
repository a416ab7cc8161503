import Glibc

/// Looks into a reply without decoding it: thousands come every second.
struct ReplyText {
  /// Ends with a zero, as a message does.
  private let bytes: [UInt8]

  init(_ text: some Collection<UInt8>) {
    let text = Array(text)
    bytes = text.last == 0 ? text : text + [0]
  }

  var showsToken: Bool { has("dummy-access-") || has("dummy-refresh-") }

  func has(_ part: String) -> Bool { after(part) != nil }

  /// The first number that stands under this name.
  func number(_ name: String) -> Int64? {
    guard let start = after("\"\(name)\":") else { return nil }
    let digits = bytes[start...].prefix { (0x30...0x39).contains($0) }
    return Int64(String(decoding: digits, as: UTF8.self))
  }

  var sighting: Sighting? {
    guard let generation = number("generation") else { return nil }
    let states = ["signedOut", "signedIn", "suspended"]
    guard let state = states.first(where: { has("\"state\":\"\($0)\"") }) else { return nil }
    return Sighting(
      generation: generation, state: state, rotations: number("rotations") ?? 0,
      isDurable: has("\"durable\":true"))
  }

  /// The index after the part.
  private func after(_ part: String) -> Int? {
    bytes.withUnsafeBytes { text in
      guard let base = text.baseAddress,
        let found = strstr(base.assumingMemoryBound(to: CChar.self), part)
      else { return nil }
      return base.distance(to: UnsafeRawPointer(found)) + part.utf8.count
    }
  }
}
