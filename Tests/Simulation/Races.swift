import Glibc
import Synchronization

/// `brewlog-races`: explores all worlds side by side and prints a table.
package enum Races {
  struct Options {
    var seconds = 60
    /// Ends when so many schedules have been run; 0: no bound.
    var schedules = 0
    var world: String?
    /// How the worlds' names begin.
    var worlds: String?
    var replay: [Int]?
    var seed: UInt64 = 1
    var workers = 2
    /// Ends at the first violation, and prints one line of it.
    var untilFailure = false
  }

  private static let usage = """
    usage: brewlog-races [--seconds N] [--schedules N] [--world NAME] [--worlds PREFIX] [--seed N]
                         [--workers N] [--until-failure]
           brewlog-races --world NAME --replay 1,0,2,…
    """

  package static func main(_ arguments: [String]) -> Int32 {
    guard let options = parse(arguments) else {
      print(usage)
      return 64
    }
    let worlds = Worlds.all.filter { world in
      options.world.map { world.name == $0 } ?? world.name.hasPrefix(options.worlds ?? "")
    }
    guard !worlds.isEmpty else {
      print("no world of that name; they are:")
      for world in Worlds.all { print("  \(world.name)") }
      return 64
    }
    guard let choices = options.replay else { return explore(worlds, options) }
    let finding = Explorer.replay(worlds[0], choices)
    RaceReport.tell(worlds[0].name, finding)
    return finding.violations.isEmpty ? 0 : 1
  }

  private static func explore(_ worlds: [World], _ options: Options) -> Int32 {
    let start = now
    let exploration = Exploration(worlds, options)
    Workers.run(options.workers) { exploration.work(worker: $0) }
    let reports = exploration.reports
    guard !options.untilFailure else {
      return RaceReport.verdict(reports, schedules: exploration.total)
    }
    RaceReport.table(reports, seconds: now - start)
    for report in reports {
      if let finding = report.finding { RaceReport.tell(report.name, finding) }
    }
    return reports.contains { $0.finding != nil } ? 1 : 0
  }

  static var now: Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  private static func parse(_ arguments: [String]) -> Options? {
    var options = Options()
    var rest = arguments[...]
    while let name = rest.popFirst() {
      if name == "--until-failure" {
        options.untilFailure = true
        continue
      }
      guard let value = rest.popFirst() else { return nil }
      switch name {
      case "--seconds": options.seconds = Int(value) ?? options.seconds
      case "--schedules": options.schedules = Int(value) ?? 0
      case "--workers": options.workers = max(1, Int(value) ?? 2)
      case "--seed": options.seed = UInt64(value) ?? 1
      case "--world": options.world = value
      case "--worlds": options.worlds = value
      case "--replay": options.replay = value.split(separator: ",").compactMap { Int($0) }
      default: return nil
      }
    }
    return options
  }
}

/// The worlds, each explored a little further in turn, so that a fault shows early whichever world
/// it is in, and none of them takes more than its share.
private final class Exploration: Sendable {
  private let worlds: [World]
  private let options: Races.Options
  private let end: Double
  private let count = Atomic(0)
  private let hasFailed = Atomic(false)
  private let results = Mutex<[Int: Explorer.Report]>([:])

  init(_ worlds: [World], _ options: Races.Options) {
    self.worlds = worlds
    self.options = options
    end = Races.now + Double(options.seconds)
  }

  var total: Int { count.load(ordering: .relaxed) }

  var reports: [Explorer.Report] {
    results.withLock { results in worlds.indices.compactMap { results[$0] } }
  }

  private var mustStop: Bool {
    (options.untilFailure && hasFailed.load(ordering: .relaxed))
      || (options.schedules > 0 && total >= options.schedules) || Races.now > end
  }

  private static let firstTurn = 32
  private static let longestTurn = 2_048

  /// Each worker has worlds of its own; nothing of a run is shared.
  func work(worker: Int) {
    var explorers: [(index: Int, explorer: Explorer)] = []
    for (index, world) in worlds.enumerated() where index % options.workers == worker {
      explorers.append(
        (index, Explorer(world, seed: options.seed, isTold: !options.untilFailure)))
    }
    var turn = Self.firstTurn
    while explorers.contains(where: { !$0.explorer.isOver }), !mustStop {
      var hasMoved = false
      for place in explorers.indices where mayMove(explorers[place].explorer) {
        hasMoved = true
        move(&explorers[place].explorer, turn)
        let report = explorers[place].explorer.report
        let index = explorers[place].index
        results.withLock { $0[index] = report }
        if report.finding != nil { hasFailed.store(true, ordering: .relaxed) }
        if mustStop { return }
      }
      if !hasMoved { return }
      turn = min(turn * 2, Self.longestTurn)
    }
  }

  /// No world has more than a fifth of the schedules.
  private func mayMove(_ explorer: Explorer) -> Bool {
    guard !explorer.isOver else { return false }
    return worlds.count < 10 || explorer.report.total < max(50_000, total / 6)
  }

  private func move(_ explorer: inout Explorer, _ turn: Int) {
    let before = explorer.report.total
    let isLarge = explorer.world.isLarge
    let turn = explorer.world.isOnSQLite ? max(8, turn / 16) : turn
    // Random orders reach far from the first schedules long before the depth-first one does.
    explorer.advance(isLarge ? 0 : turn, random: isLarge ? turn : 0) { mustStop }
    explorer.advance(0, random: isLarge ? 0 : turn / 4) { mustStop }
    count.wrappingAdd(explorer.report.total - before, ordering: .relaxed)
  }
}

/// Threads of their own.
private enum Workers {
  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  static func run(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    var threads: [pthread_t] = []
    for number in 0..<count {
      var thread = pthread_t()
      let context = Unmanaged.passRetained(Body { body(number) }).toOpaque()
      let result = pthread_create(
        &thread, nil,
        { context in
          if let context { Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() }
          return nil
        }, context)
      if result == 0 { threads.append(thread) }
    }
    for thread in threads { pthread_join(thread, nil) }
  }
}
