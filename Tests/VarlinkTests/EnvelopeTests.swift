import FoundationEssentials
import JSON
import Testing
import Varlink

/// What the machine makes of one message; the envelope's own types do not leave their target.
private func decode(_ text: String) -> ConnectionMachine.Step {
  decode(Array(text.utf8))
}

private func decode(_ bytes: [UInt8]) -> ConnectionMachine.Step {
  var machine = ConnectionMachine(limits: Limits())
  machine.receive(bytes + [0])
  return machine.next()
}

private func parameters(_ text: String) -> [String: JSONValue]? {
  if case .begin(_, let call) = decode(#"{"method":"a.B","parameters":\#(text)}"#) {
    call.parameters
  } else {
    nil
  }
}

private func isViolation(_ step: ConnectionMachine.Step) -> Bool {
  if case .violation = step { true } else { false }
}

@Suite(.timeLimit(.minutes(1)))
struct EnvelopeTests {
  @Test(arguments: [
    (#"{"method":"a.B"}"#, Call(method: "a.B")),
    (#" { "method" : "a.B" } "#, Call(method: "a.B")),
    (#"{"method":"a.B","parameters":null,"more":null}"#, Call(method: "a.B")),
    (#"{"method":"a.B","parameters":{"x":1}}"#, Call(method: "a.B", parameters: ["x": 1])),
    (#"{"method":"a.B","more":true}"#, Call(method: "a.B", more: true)),
    (#"{"method":"a.B","more":false,"oneway":false}"#, Call(method: "a.B")),
    (#"{"method":"a.B","of":"tomorrow"}"#, Call(method: "a.B")),
    (#"{"m\u0065thod":"a.B"}"#, Call(method: "a.B")),
    (#"{"method":""}"#, Call(method: "")),
  ])
  func `a well-formed call is taken`(text: String, call: Call) {
    #expect(decode(text) == .begin(.awaited(0), call))
  }

  @Test func `a oneway call is taken as such`() {
    let call = Call(method: "a.B", oneway: true)
    #expect(decode(#"{"method":"a.B","oneway":true}"#) == .begin(.oneway(0), call))
  }

  @Test(arguments: [
    "", " ", "x", "[]", "null", "1", #""x""#, "{", "}", "{}", "{]", #"{"method""#, #"{"method":"#,
    #"{"method":1}"#, #"{"method":null}"#, #"{"method":["a.B"]}"#, #"{"method":"a.B""#,
    #"{"method":"a.B"}x"#, #"{"method":"a.B"}{}"#, #"{"method":"a.B",}"#, #"{,"method":"a.B"}"#,
    #"{"method":"a.B" "more":true}"#, #"{method:"a.B"}"#, #"{'method':'a.B'}"#,
    #"{"method":"a.B","parameters":[]}"#, #"{"method":"a.B","parameters":"x"}"#,
    #"{"method":"a.B","parameters":1}"#, #"{"method":"a.B","more":1}"#,
    #"{"method":"a.B","more":"true"}"#, #"{"method":"a.B","oneway":0}"#,
    #"{"method":"a.B","upgrade":"yes"}"#, #"{"method":"a.B","more":true,"oneway":true}"#,
    #"{"method":"a.B","method":"a.B"}"#, #"{"method":"a.B","m\u0065thod":"c.D"}"#,
    #"{"method":"a.B","parameters":{"x":1,"x":2}}"#, #"{"method":"a.B","parameters":{"x":}}"#,
    #"{"method":"a\uD800.B"}"#, #"{"method":"\uDC00"}"#, #"{"method":"\uD800\u0041"}"#,
    #"{"method":"\x41"}"#, #"{"method":"\u12"}"#, #"{"method":"\"#, "{\"method\":\"a\nB\"}",
    #"{"method":"a.B","parameters":{"x":01}}"#, #"{"method":"a.B","parameters":{"x":1.}}"#,
    #"{"method":"a.B","parameters":{"x":.5}}"#, #"{"method":"a.B","parameters":{"x":1e}}"#,
    #"{"method":"a.B","parameters":{"x":+1}}"#, #"{"method":"a.B","parameters":{"x":-}}"#,
    #"{"method":"a.B","parameters":{"x":NaN}}"#, #"{"method":"a.B","parameters":{"x":tru}}"#,
    #"{"method":"a.B","parameters":{"x":1e99999}}"#, #"{"method":"a.B","parameters":{"x":[1,]}}"#,
    "\u{FEFF}{\"method\":\"a.B\"}",
  ])
  func `what is no call closes the connection`(text: String) {
    #expect(isViolation(decode(text)))
  }

  @Test(arguments: [
    [0xff, 0xfe], Array(#"{"method":""#.utf8) + [0xff] + Array(#""}"#.utf8),
    Array(#"{"method":""#.utf8) + [0xc0, 0xaf] + Array(#""}"#.utf8),
    Array(#"{"method":""#.utf8) + [0xed, 0xa0, 0x80] + Array(#""}"#.utf8),
    Array(#"{"method":"a.B"}"#.utf8) + [0x80],
  ])
  func `invalid UTF-8 closes the connection`(bytes: [UInt8]) {
    #expect(isViolation(decode(bytes)))
  }

  @Test(arguments: [(30, true), (31, true), (32, false), (100, false), (16_000, false)])
  func `nesting is bounded`(depth: Int, isTaken: Bool) {
    let arrays = String(repeating: "[", count: depth - 1) + String(repeating: "]", count: depth - 1)
    let objects =
      String(repeating: #"{"x":"#, count: depth - 1) + "1"
      + String(repeating: "}", count: depth - 1)
    let unclosed = String(repeating: "[", count: depth)
    #expect((parameters(#"{"x":\#(arrays)}"#) != nil) == isTaken)
    #expect((parameters(#"{"x":\#(objects)}"#) != nil) == isTaken || depth > 10_000)
    #expect(isViolation(decode(#"{"method":"a.B","parameters":\#(unclosed)"#)))
  }

  @Test(
    arguments: [
      ("0", .integer(0)), ("-0", .integer(0)), ("-12", .integer(-12)), ("1.000", .integer(1)),
      ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
      ("9223372036854775808", .decimal(Decimal(Int64.max) + 1)), ("1.5", .decimal(1.5)),
      ("1e3", .decimal(1000)), ("true", .bool(true)), ("null", .null), (#""\n\u00e4\/""#, "\nä/"),
      (#""\ud83d\ude00""#, "😀"), ("[1,[],{}]", [1, [], [:]]), (#"{ "a" : [ ] }"#, ["a": []]),
    ] as [(String, JSONValue)])
  func `values keep their meaning`(text: String, value: JSONValue) {
    #expect(parameters(#"{"x":\#(text)}"#) == ["x": value])
  }

  @Test(arguments: ["", "-", "0.", "1e", "1."])
  func `a number of any length is survived`(start: String) {
    _ = parameters(#"{"x":\#(start + String(repeating: "7", count: 60_000))}"#)
  }

  @Test func `any change of one byte is survived`() {
    let text = Array(#"{"method":"a.B","parameters":{"x":[1.5e3,"\u00e4",null]},"more":true}"#.utf8)
    for position in text.indices {
      for byte in UInt8.min...UInt8.max {
        var changed = text
        changed[position] = byte
        _ = decode(changed)
      }
      _ = decode(Array(text[..<position]))
    }
  }
}
