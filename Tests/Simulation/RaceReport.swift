/// What is printed of an exploration. Tokens are dummies, and even their names are left out: a pair
/// is said by account and rotation.
enum RaceReport {
  static func table(_ reports: [Explorer.Report], seconds: Double) {
    row("world", "schedules", "random", "states", "complete", "refreshes", "ends", "violations")
    for report in reports {
      let refreshes =
        report.fewestRefreshes == .max
        ? "-" : "\(report.fewestRefreshes)-\(report.mostRefreshes)"
      row(
        report.name, "\(report.schedules)", "\(report.randomSchedules)", "\(report.states)",
        report.isComplete ? "yes" : "no", refreshes, "\(report.ends)",
        "\(report.finding?.violations.count ?? 0)")
    }
    ends(of: reports)
    summary(reports, seconds)
  }

  private static func row(_ cells: String...) {
    let widths = [52, 11, 9, 9, 10, 11, 6, 10]
    print(zip(cells, widths).map { pad($0, $1) }.joined())
  }

  /// What the store holds at the end, the most frequent first.
  private static func ends(of reports: [Explorer.Report]) {
    print("\nwhat the store holds at the end, and after how many schedules")
    for report in reports {
      print("  \(report.name)")
      let sorted = report.storeEnds.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      for end in sorted.prefix(6) { print("    \(pad("\(end.value)", 9))\(end.key)") }
      if sorted.count > 6 { print("    and \(sorted.count - 6) others") }
    }
  }

  private static func summary(_ reports: [Explorer.Report], _ seconds: Double) {
    let total = reports.reduce(0) { $0 + $1.total }
    let complete = reports.filter(\.isComplete).count
    let violated = reports.filter { $0.finding != nil }.count
    let most = reports.max { $0.total < $1.total }
    let share = Double(most?.total ?? 0) / Double(max(total, 1))
    print(
      """

      \(total) schedules of \(reports.count) worlds in \(Int(seconds)) s \
      (\(Int(Double(total) / max(seconds, 0.001))) a second); \(complete) worlds complete; \
      violations in \(violated)
      the most in one world: \(Int(share * 100)) % (\(most?.name ?? "none"))
      """)
  }

  /// One line for the table of mutants.
  static func verdict(_ reports: [Explorer.Report], schedules: Int) -> Int32 {
    for report in reports {
      guard let violation = report.finding?.violations.first else { continue }
      print("caught\t\(schedules)\t\(report.name)\t\(violation)")
      return 1
    }
    print("survived\t\(schedules)")
    return 0
  }

  static func tell(_ name: String, _ finding: Explorer.Finding) {
    print("\n\(name): \(finding.violations.isEmpty ? "no violation" : "")")
    for violation in finding.violations { print("  \(violation)") }
    for line in finding.story { print("    \(line)") }
    if let seed = finding.seed { print("  found with the random order of seed \(seed)") }
    let choices = finding.choices.map(String.init).joined(separator: ",")
    print("  again: \(CommandLine.arguments[0]) --world '\(name)' --replay '\(choices)'")
  }

  private static func pad(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(1, width - text.count))
  }
}
