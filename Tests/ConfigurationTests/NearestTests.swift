import Configuration
import Testing

@Suite(.timeLimit(.minutes(1)))
struct NearestTests {
  @Test(arguments: [
    ("", "abc", 3), ("abc", "abc", 0), ("kitten", "sitting", 3), ("ab", "ba", 1), ("abc", "", 3),
  ])
  func `distances are counted in edits`(left: String, right: String, distance: Int) {
    #expect(Nearest.distance(left, right) == distance)
  }

  @Test func `case counts for nothing`() {
    #expect(Nearest.name(to: "baseurl", among: ["CAFile", "BaseURL"]) == "BaseURL")
    #expect(Nearest.name(to: "x", among: []) == nil)
  }

  @Test func `the nearest of all is named, what may have been meant only if it is near`() {
    #expect(Nearest.name(to: "xyz", among: ["BaseURL"]) == "BaseURL")
    #expect(Nearest.match("xyz", in: ["BaseURL"]) == nil)
    #expect(Nearest.match("BasURL", in: ["BaseURL"]) == "BaseURL")
    #expect(Nearest.match(String(repeating: "a", count: 65), in: ["a"]) == nil)
    #expect(Nearest.hint("Baseurl", in: ["BaseURL"]) == "; did you mean BaseURL?")
  }
}
