import Testing
import Varlink

@Suite(.timeLimit(.minutes(1)))
struct InterfaceDescriptionTests {
  @Test func `the methods are taken from the text`() {
    let description = InterfaceDescription(
      name: "a.b",
      text: """
        # method Commented() -> ()
        interface a.b
        type T (method: string, x: (one, two))
        method One() -> ()
        method Two(
          method : string, # method Inner() -> ()
          y: ?[string](z: int)
        ) -> (method: string)
          method   Three (a: int) -> ()   # method Late()
        error methodless ()
        error E (reason: string)
        """)
    #expect(description.methods == ["One", "Two", "Three"])
  }

  @Test func `a parenthesis too many hides no method behind it`() {
    let description = InterfaceDescription(
      name: "org.example.X",
      text: "interface org.example.X\n)\nmethod A() -> ())\nmethod B() -> ()\n")
    #expect(description.methods == ["A", "B"])
  }

  @Test(arguments: ["\n", "\r\n", "\r"])
  func `lines may end as on any system`(end: String) {
    let lines = [
      "interface org.example.X", "# method No()", "method A() -> () # method No()",
      "method B() -> (",
      "method: string", ")",
    ]
    let description = InterfaceDescription(
      name: "org.example.X", text: lines.joined(separator: end))
    #expect(description.methods == ["A", "B"])
  }

  @Test(arguments: ["", "method", "method ", "method (", ")))method X(", "((((", "#"])
  func `any text is survived`(text: String) {
    _ = InterfaceDescription(name: "a", text: text)
  }
}
