/// One tip of the demo's own collection.
struct DemoTip: Sendable {
  enum Drink: String, Sendable { case coffee, tea }

  var id: String
  var drink: Drink
  var title: String
  var body: String
  var tags: [String]

  static let all = coffee + tea

  /// One for each day, in turn: all are seen before one comes again.
  static func ofTheDay(_ date: String) -> DemoTip {
    let parts = date.split(separator: "-").compactMap { Int($0) }
    guard parts.count == 3 else { return all[0] }
    let day = daysSince1970(parts[0], parts[1], parts[2])
    return all[((day % all.count) + all.count) % all.count]
  }

  /// Days of the Gregorian calendar, the year counted from March.
  private static func daysSince1970(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let shifted = month > 2 ? year : year - 1
    let months = (month + 9) % 12
    let dayOfYear = (153 * months + 2) / 5 + day - 1
    return 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
  }
}
