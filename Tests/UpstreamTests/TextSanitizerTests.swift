import JSON
import Testing

@Suite(.timeLimit(.minutes(1)))
struct TextSanitizerTests {
  @Test(arguments: [
    ("plain text, ümläute, 茶", "plain text, ümläute, 茶"),
    ("two\nlines\r\nand\ttabs", "two lines and tabs"),
    ("red \u{1B}[31mtext\u{1B}[0m", "red \u{FFFD}text\u{FFFD}"),
    ("title \u{1B}]0;evil\u{7}after", "title \u{FFFD}after"),
    ("title \u{1B}]0;evil\u{1B}\\after", "title \u{FFFD}after"),
    ("no end \u{1B}]0;text stays", "no end \u{FFFD}0;text stays"),
    ("C1 \u{9B}31mtext", "C1 \u{FFFD}text"),
    ("charset \u{1B}(Btext", "charset \u{FFFD}text"),
    ("bell\u{7} null\u{0} delete\u{7F}", "bell\u{FFFD} null\u{FFFD} delete\u{FFFD}"),
    ("bidi \u{202E}abc\u{2066}def", "bidi \u{FFFD}abc\u{FFFD}def"),
    ("tag \u{E0041} zero \u{200B} bom \u{FEFF}", "tag \u{FFFD} zero \u{FFFD} bom \u{FFFD}"),
    ("family 👩\u{200D}👧", "family 👩\u{200D}👧"),
    ("separators \u{2028}\u{2029}\u{85}end", "separators    end"),
    ("\u{1B}", "\u{FFFD}"), ("\u{1B}[", "\u{FFFD}"), ("", ""),
  ])
  func `what could command a terminal is taken out`(text: String, clean: String) {
    #expect(TextSanitizer.clean(text) == clean)
  }

  @Test func `text is cut at the limit and says so`() {
    #expect(TextSanitizer.clean("abcdef", limit: 6) == "abcdef")
    #expect(TextSanitizer.clean("abcdefg", limit: 6) == "abcdef…")
    #expect(TextSanitizer.clean("a", limit: .max) == "a")
  }

  @Test func `lines are kept where a body is shown`() {
    #expect(TextSanitizer.clean("a\r\nb\nc\rd", lines: .kept) == "a\nb\nc\nd")
  }

  @Test func `bytes that are not UTF-8 become replacement characters`() {
    let bytes: [UInt8] = [0x61, 0xFF, 0xC3, 0x62, 0xED, 0xA0, 0x80]
    let clean = TextSanitizer.clean(bytes)
    #expect(clean.hasPrefix("a\u{FFFD}\u{FFFD}b\u{FFFD}"))
    #expect(TextSanitizer.clean(bytes, limit: .max) == clean)
  }

  @Test func `no output scalar is a control, whatever goes in`() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<500 {
      let bytes = (0..<80).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
      let clean = TextSanitizer.clean(bytes, limit: 40)
      #expect(clean.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
      #expect(clean.unicodeScalars.count <= 41)
    }
  }
}
