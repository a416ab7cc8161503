import Testing

@testable import Configuration

@Suite(.timeLimit(.minutes(1)))
struct NearestNameTests {
  @Test(arguments: [
    ("", "abc", 3), ("abc", "abc", 0), ("kitten", "sitting", 3), ("ab", "ba", 2), ("abc", "", 3),
  ])
  func `distances are counted in edits`(left: String, right: String, distance: Int) {
    #expect(editDistance(Array(left.utf8), Array(right.utf8)) == distance)
  }

  @Test func `case counts for nothing`() {
    #expect(nearestName(to: "baseurl", among: ["CAFile", "BaseURL"]) == "BaseURL")
    #expect(nearestName(to: "x", among: []) == nil)
  }
}
