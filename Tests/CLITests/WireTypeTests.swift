import BrewlogAPI
import Execution
import JSON
import Testing
import Varlink

@Suite(.timeLimit(.minutes(1)))
struct WireTypeTests {
  @Test(
    arguments: [
      (0, "1970-01-01T00:00:00Z"), (-1, "1969-12-31T23:59:59.999Z"),
      (951_782_400_000, "2000-02-29T00:00:00Z"), (1_796_047_200_123, "2026-11-30T14:00:00.123Z"),
      (4_107_542_399_000, "2100-02-28T23:59:59Z"), (4_107_542_400_000, "2100-03-01T00:00:00Z"),
      (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
      (-62_167_219_200_000, "0000-01-01T00:00:00Z"),
    ] as [(Int64, String)])
  func `moments are RFC 3339 both ways`(milliseconds: Int64, text: String) {
    #expect(Timestamps.text(WallTime(milliseconds: milliseconds)) == text)
    #expect(Timestamps.moment(text) == WallTime(milliseconds: milliseconds))
  }

  @Test func `moments that have no text are shown as the nearest that has`() {
    #expect(Timestamps.text(WallTime(milliseconds: .max)) == "9999-12-31T23:59:59.999Z")
    #expect(Timestamps.text(WallTime(milliseconds: .min)) == "0000-01-01T00:00:00Z")
  }

  @Test(
    arguments: [
      ("2026-11-30T15:00:00+01:00", 1_796_047_200_000),
      ("2026-11-30t14:00:00.5z", 1_796_047_200_500),
      ("2026-11-30T08:30:00.0009-05:30", 1_796_047_200_000), ("2026-11-30 14:00:00Z", nil),
      ("2026-02-29T00:00:00Z", nil), ("2026-13-01T00:00:00Z", nil), ("2026-11-30T24:00:00Z", nil),
      ("2026-11-30T14:00:00", nil), ("2026-11-30T14:00:00.Z", nil), ("2026-11-30T14:00:00Zx", nil),
      ("", nil), ("é", nil), ("+026-11-30T14:00:00Z", nil),
    ] as [(String, Int64?)])
  func `only RFC 3339 is read`(text: String, milliseconds: Int64?) {
    #expect(Timestamps.moment(text)?.milliseconds == milliseconds)
  }

  @Test func `names that are not known survive both ways`() throws {
    let bytes = Array(#"["signedIn","asleep"]"#.utf8)
    let states = try JSONText.decode([SessionState].self, from: bytes)
    #expect(states == [.signedIn, .unknown("asleep")])
    #expect(try JSONText.encode(states) == bytes)
  }

  @Test func `what is absent is left out`() throws {
    let text = String(decoding: try JSONText.encode(Samples.signedOut), as: UTF8.self)
    #expect(!text.contains("null"))
    #expect(!text.contains("account\""))
    #expect(text.contains(#""reason":"the account signed out""#))
  }

  @Test func `parameters are taken by name and type`() throws {
    var reader = ParameterReader([
      "a": "x", "b": true, "c": 7, "d": nil, "e": 8,
    ])
    #expect(try reader.string("a") == "x")
    #expect(try reader.optionalBool("b") == true)
    #expect(try reader.int("c", in: 1...7) == 7)
    #expect(try reader.optionalString("d") == nil)
    #expect(try reader.optionalInt("absent", in: 0...1) == nil)
    #expect(throws: VarlinkError.invalidParameter("e")) { try reader.finish() }
    #expect(throws: VarlinkError.invalidParameter("e")) {
      try reader.optionalInt("e", in: 0...7)
    }
    try reader.finish()
  }

  @Test(arguments: ["7", "true", "[]", "null", "1.5"])
  func `a parameter of another type is refused by name`(json: String) throws {
    let value = try JSONText.decode(JSONValue.self, from: json.utf8)
    var reader = ParameterReader(["a": value])
    #expect(throws: VarlinkError.invalidParameter("a")) { try reader.string("a") }
  }
}
