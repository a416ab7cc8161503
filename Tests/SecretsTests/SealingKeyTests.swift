import Secrets
import Testing

private func secret(_ text: String) throws -> Secret { try Secret(copying: Array(text.utf8)) }

@Suite(.timeLimit(.minutes(1)))
struct SealingKeyTests {
  @Test func `what was sealed opens with the same key and the same associated data`() throws {
    let key = try SealingKey.random()
    let sealed = key.seal(try secret("dummy-refresh-0"), for: [1, 2])
    let opened = try key.open(sealed, for: [1, 2])
    #expect(opened.equals(try secret("dummy-refresh-0")))
    #expect(sealed.count == 15 + SealingKey.overhead)
  }

  @Test func `nothing at all can be sealed`() throws {
    let key = try SealingKey.random()
    let opened = try key.open(key.seal(try secret(""), for: []), for: [])
    #expect(opened.count == 0)
  }

  @Test func `the same bytes are never sealed alike`() throws {
    let key = try SealingKey.random()
    let plain = try secret("dummy")
    #expect(key.seal(plain, for: []) != key.seal(plain, for: []))
  }

  @Test func `other associated data or another key open nothing`() throws {
    let key = try SealingKey.random()
    let other = try SealingKey.random()
    let sealed = key.seal(try secret("dummy"), for: [1])
    #expect(throws: SealError.notAuthentic) { _ = try key.open(sealed, for: [2]).count }
    #expect(throws: SealError.notAuthentic) { _ = try other.open(sealed, for: [1]).count }
  }

  @Test(arguments: 0..<46)
  func `a flipped bit anywhere is seen`(at index: Int) throws {
    let key = try SealingKey.random()
    var sealed = key.seal(try secret("dummy"), for: [])
    #expect(sealed.count == 46)
    sealed[index] ^= 0x10
    let expected: SealError = index == 0 ? .malformed : .notAuthentic
    #expect(throws: expected) { _ = try key.open(sealed, for: []).count }
  }

  @Test(arguments: 0..<41)
  func `bytes that are too short are malformed`(count: Int) throws {
    let key = try SealingKey.random()
    #expect(throws: SealError.malformed) {
      _ = try key.open([UInt8](repeating: 1, count: count), for: []).count
    }
  }

  @Test func `keys derived for different purposes differ and come out alike twice`() throws {
    let material = try secret("dummy material of any length, also an odd one")
    let sealed = try SealingKey(derivedFrom: material, purpose: "a").seal(secret("x"), for: [])
    let again = try SealingKey(derivedFrom: material, purpose: "a")
    let other = try SealingKey(derivedFrom: material, purpose: "b")
    #expect(try again.open(sealed, for: []).count == 1)
    #expect(throws: SealError.notAuthentic) { _ = try other.open(sealed, for: []).count }
  }

  @Test func `a key has 32 bytes`() throws {
    #expect(SealingKey(try Secret.random(count: 31)) == nil)
    #expect(SealingKey(try Secret.random(count: 32)) != nil)
  }
}

@Suite(.timeLimit(.minutes(1)))
struct TokenFingerprinterTests {
  @Test func `a fingerprint is stable, short, and shows nothing of the token`() throws {
    let printer = TokenFingerprinter(key: try secret("dummy key"))
    let text = printer.text(of: try secret("dummy-access-0"))
    #expect(text == printer.text(of: try secret("dummy-access-0")))
    #expect(text != printer.text(of: try secret("dummy-access-1")))
    #expect(text.count == 15 && text.hasPrefix("fp:"))
    #expect([UInt8](hex: text.dropFirst(3))?.count == 6)
  }

  @Test func `another installation has other fingerprints`() throws {
    let here = TokenFingerprinter(key: try secret("dummy key"))
    let there = TokenFingerprinter(key: try secret("another key"))
    #expect(here.text(of: try secret("dummy")) != there.text(of: try secret("dummy")))
  }

  @Test func `HMAC-SHA-256 gives the answer of RFC 4231's second case`() {
    let digest = HMACSHA256.authenticate(
      Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8))
    #expect(digest.hex == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
  }

  @Test(arguments: [
    ("", [] as [UInt8]?), ("00ff", [0, 255]), ("0", nil), ("zz", nil), ("AB", [171]),
  ])
  func `hexadecimal digits are read strictly`(text: String, bytes: [UInt8]?) {
    #expect([UInt8](hex: text) == bytes)
  }
}
