/// Runs a world under many scripts: every one in depth-first order, and random ones from a seed. Goes
/// on where it stopped, so that many worlds can be explored side by side.
package struct Explorer {
  package struct Finding: Sendable {
    package var violations: [String]
    /// The choices that lead there; `brewlog-races --replay` takes them.
    package var choices: [Int]
    /// The random order that found it; nil: the depth-first one.
    package var seed: UInt64?
    package var story: [String]
  }

  package struct Report: Sendable {
    package var name: String
    /// In depth-first order; of them so many to their end, the others to a state that was known.
    package var schedules = 0
    package var finished = 0
    package var randomSchedules = 0
    package var states = 0
    package var isComplete = false
    package var fewestRefreshes = Int.max
    package var mostRefreshes = 0
    /// How many different ends there were, by answers and store.
    package var ends = 0
    /// What the store held at the end, and how often.
    package var storeEnds: [String: Int] = [:]
    package var finding: Finding?

    package var total: Int { schedules + randomSchedules }
  }

  package let world: World
  package private(set) var report: Report
  private let seen = SeenStates()
  private var ends: Set<String> = []
  private var prefix: [Int]? = []
  private var nextSeed: UInt64
  /// Whether a failure is shrunk and told; mutants need only know that there is one.
  private let isTold: Bool

  package init(_ world: World, seed: UInt64 = 1, isTold: Bool = true) {
    self.world = world
    self.isTold = isTold
    nextSeed = seed &* 1_000_003
    report = Report(name: world.name)
    report.isComplete = false
  }

  /// Nothing is left to explore, or a violation was found.
  package var isOver: Bool { report.isComplete || report.finding != nil }

  /// Explores some more: so many schedules in depth-first order, so many in random ones. What leads
  /// to a state that was seen before is left out.
  package mutating func advance(
    _ schedules: Int, random: Int, isOver mustStop: () -> Bool = { false }
  ) {
    var left = schedules
    while left > 0, !isOver, let next = prefix, !mustStop() {
      left -= 1
      let outcome = Run(world, script: Script(prefix: next)).execute(seen: seen)
      report.schedules += 1
      if !outcome.isCut { report.finished += 1 }
      note(outcome, seed: nil)
      prefix = Script.following(outcome.choices)
      if prefix == nil, report.finding == nil { report.isComplete = true }
    }
    left = random
    while left > 0, !isOver, !mustStop() {
      left -= 1
      let seed = nextSeed
      nextSeed &+= 1
      let outcome = Run(world, script: Script(seed: seed)).execute(seen: nil)
      report.randomSchedules += 1
      note(outcome, seed: seed)
    }
    report.states = seen.count
    report.ends = ends.count
  }

  private mutating func note(_ outcome: Run.Outcome, seed: UInt64?) {
    if !outcome.isCut {
      ends.insert(outcome.end)
      report.storeEnds[outcome.storeEnd, default: 0] += 1
      report.fewestRefreshes = min(report.fewestRefreshes, outcome.refreshes)
      report.mostRefreshes = max(report.mostRefreshes, outcome.refreshes)
    }
    guard !outcome.violations.isEmpty else { return }
    let choices = outcome.choices.map(\.taken)
    guard isTold else {
      report.finding = Finding(
        violations: outcome.violations, choices: choices, seed: seed, story: [])
      return
    }
    var finding = Self.replay(world, shrunk(choices, outcome.violations))
    finding.seed = seed
    report.finding = finding
  }

  /// Runs one script again and tells what happens.
  package static func replay(_ world: World, _ choices: [Int]) -> Finding {
    let run = Run(world, script: Script(prefix: choices), keepsStory: true)
    let outcome = run.execute(seen: nil)
    return Finding(
      violations: outcome.violations, choices: choices, seed: nil, story: outcome.story)
  }

  /// Fewer and smaller choices that break the same invariant: leaves single choices out, and sets
  /// them back to the first.
  private func shrunk(_ choices: [Int], _ violations: [String]) -> [Int] {
    let broken = violations.first?.prefix { $0 != ":" }
    var runs = 0
    func fails(_ candidate: [Int]) -> Bool {
      runs += 1
      guard runs < 600 else { return false }
      let outcome = Run(world, script: Script(prefix: candidate)).execute(seen: nil)
      return outcome.violations.first?.prefix { $0 != ":" } == broken
    }
    var best = choices
    while best.last == 0 { best.removeLast() }
    var isShorter = true
    while isShorter {
      isShorter = false
      for index in best.indices.reversed() where index < best.count {
        var without = best
        without.remove(at: index)
        if fails(without) {
          (best, isShorter) = (without, true)
          continue
        }
        guard best[index] > 0 else { continue }
        var smaller = best
        smaller[index] = 0
        if fails(smaller) { (best, isShorter) = (smaller, true) }
      }
      while best.last == 0 { best.removeLast() }
    }
    return best
  }
}
