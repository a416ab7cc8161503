import DemoUpstream
import Execution
import Glibc
import Platform
import Simulation

/// What befalls the host, drawn from the seed, until the time is up. What was taken away is given
/// back at the end.
struct Script {
  let host: Host
  let ledger: Ledger
  var chance: SplitMix
  let administrator: Caller

  /// What has not come yet today.
  private var due: [Fault]
  private var steps = [1, -1]
  private var isAway = false
  private var areNamesGone = false
  private var clockDays = 0
  private var holds = 0
  private var weather = "fair"

  init(host: Host, seed: UInt64, administrator: Caller) {
    (self.host, self.administrator) = (host, administrator)
    ledger = host.ledger
    chance = SplitMix(state: seed)
    // The clock twice: a day ahead and a day behind.
    due = (Fault.allCases + [.clock]).shuffled(using: &chance)
  }

  private var upstream: DemoUpstream { host.upstream }
  private var refreshPath: String { host.dialect == "simple" ? "/auth/refresh" : "/token" }

  /// Until the time is over and each kind of fault has come at least once.
  mutating func run(for span: Duration, since start: Instant) throws {
    while start.duration(to: SystemClock.now) < span || !due.isEmpty {
      try step()
      usleep(UInt32.random(in: 30_000..<450_000, using: &chance))
    }
    try heal()
  }

  private enum Fault: CaseIterable {
    case kill, stop, outage, flapping, weather, spoiledRefreshes, names, disk, clock, expiry, reload
    case upgrade, revocation, none

    /// How often it comes, in a hundred.
    var weight: Int {
      switch self {
      case .kill: 16
      case .weather: 14
      case .outage, .expiry: 10
      case .spoiledRefreshes, .disk: 8
      case .clock: 7
      case .reload: 6
      case .names: 5
      case .stop, .flapping: 4
      case .upgrade: 3
      case .revocation: 1
      case .none: 4
      }
    }
  }

  private mutating func step() throws {
    // What is broken does not stay so for long: most of the day something works.
    if Int.random(in: 0..<10, using: &chance) < 3, try mend() { return }
    let isDue = Bool.random(using: &chance)
    switch isDue ? due.popLast() ?? drawn() : drawn() {
    case .kill: try kill()
    case .stop: try stopInOrder()
    case .outage: try isAway ? comeBack() : goAway()
    case .flapping: try flap()
    case .weather: changeWeather()
    case .spoiledRefreshes: spoilRefreshes()
    case .names: try toggleNames()
    case .disk: try toggleDisk()
    case .clock: try stepClock()
    case .expiry: expire()
    case .reload: try reload()
    case .upgrade: try upgrade()
    case .revocation: revoke()
    case .none: break
    }
  }

  private mutating func drawn() -> Fault {
    var place = Int.random(in: 0..<100, using: &chance)
    for fault in Fault.allCases {
      place -= fault.weight
      if place < 0 { return fault }
    }
    return .none
  }

  private func pause(_ milliseconds: Range<UInt32>, _ chance: inout SplitMix) {
    usleep(UInt32.random(in: milliseconds, using: &chance) * 1_000)
  }

  /// Gives one thing back; false where nothing is missing.
  private mutating func mend() throws -> Bool {
    if isAway {
      try comeBack()
    } else if areNamesGone {
      try toggleNames()
    } else if weather != "fair" {
      setWeather("fair")
    } else if host.isDiskFull {
      try toggleDisk()
    } else {
      return false
    }
    return true
  }

  // MARK: The daemon

  private mutating func kill() throws {
    ledger.note("kill -9, run \(host.run())")
    try host.end(SIGKILL)
    if Int.random(in: 0..<3, using: &chance) == 0 { pause(10..<400, &chance) }
    try start()
  }

  private mutating func stopInOrder() throws {
    ledger.note("stopped in order, run \(host.run())")
    try host.end(SIGTERM)
    try start()
  }

  private mutating func start() throws {
    try host.start()
    ledger.note("started, run \(host.run())")
    // It lives for a while, also on a machine where a start takes long.
    pause(200..<1_500, &chance)
  }

  private mutating func upgrade() throws {
    ledger.note("the program is replaced by another copy, run \(host.run()) goes on")
    try host.upgrade()
    ledger.count { $0.upgrades += 1 }
    if Bool.random(using: &chance) { try stopInOrder() }
  }

  private mutating func reload() throws {
    let backoff = Int.random(in: 20..<90, using: &chance)
    let isGood = Bool.random(using: &chance)
    try host.configure(backoff: backoff, fault: isGood ? "" : "NoSuchKey=1")
    host.hangUp()
    let (outcome, _) = administrator.call("org.brewlog.Service.Reload")
    switch outcome {
    case .reply where isGood: ledger.note("SIGHUP with a good configuration")
    case .failure("org.brewlog.Service.InvalidConfiguration", _) where !isGood:
      ledger.note("SIGHUP with a bad configuration")
    default:
      ledger.violate("a reload with a \(isGood ? "good" : "bad") configuration: \(outcome)")
    }
    try host.configure(backoff: backoff)
  }

  // MARK: The upstream and the way to it

  private mutating func goAway() throws {
    ledger.count { $0.outages += 1 }
    ledger.note("the upstream's port is closed")
    close()
    isAway = true
  }

  private func close() {
    upstream.close()
    ledger.cutAnswers(upstream.arrivals)
  }

  private mutating func comeBack() throws {
    try upstream.reopen()
    isAway = false
    ledger.note("the upstream's port is open")
  }

  private mutating func flap() throws {
    ledger.count { $0.outages += 1 }
    ledger.note("the upstream flaps")
    if isAway { try upstream.reopen() }
    for _ in 0..<Int.random(in: 2..<6, using: &chance) {
      close()
      pause(5..<80, &chance)
      try upstream.reopen()
      pause(5..<120, &chance)
    }
    isAway = false
  }

  /// What every request gets for a while.
  private mutating func changeWeather() {
    let kinds = [
      "fair", "fair", "resets", "cut connections", "answers 503", "a captive portal", "silence",
      "slow answers",
    ]
    setWeather(kinds.randomElement(using: &chance) ?? "fair")
  }

  private mutating func setWeather(_ kind: String) {
    weather = kind
    if weather != "fair" { ledger.count { $0.outages += 1 } }
    ledger.note("the upstream's weather: \(weather)")
    release()
    holds += 1
    let step: Step? =
      switch weather {
      case "resets": .reset
      case "cut connections": .drop
      case "answers 503": .respond(status: 503)
      case "a captive portal":
        .respond(
          status: 200, headers: [("Content-Type", "text/html")], body: "<html>Sign in</html>")
      case "silence": .drop.held("silence-\(holds)")
      case "slow answers": .delay(.milliseconds(300))
      default: nil
      }
    for (method, path) in routes { upstream.always(method, path, step) }
  }

  private var routes: [(Method, String)] {
    [
      (.post, refreshPath), (.post, "/revoke"), (.get, "/tips/today"), (.get, "/tips/bloom"),
      (.get, "/tips/no-such-tip"),
    ]
  }

  /// The next refreshes are carried out, and their answers lost or late: a token is spent, and the
  /// daemon cannot know.
  private mutating func spoilRefreshes() {
    holds += 1
    let (name, step): (String, Step) =
      switch Int.random(in: 0..<4, using: &chance) {
      case 0: ("lost", .loseAnswer)
      case 1: ("late", .delay(.milliseconds(Int.random(in: 50..<1_500, using: &chance))))
      case 2: ("cut short", .normal.truncated(afterBytes: 9))
      default: ("held back", .hold("late-\(holds)"))
      }
    ledger.note("the next refresh's answer will be \(name)")
    upstream.script(.post, refreshPath, [step])
  }

  private mutating func release() {
    for number in 0...holds {
      upstream.release("silence-\(number)")
      upstream.release("late-\(number)")
    }
  }

  private mutating func toggleNames() throws {
    guard host.hasNames else { return }
    areNamesGone.toggle()
    if areNamesGone { ledger.count { $0.outages += 1 } }
    try host.setNames(known: !areNamesGone)
    ledger.note("names \(areNamesGone ? "cannot be looked up" : "can be looked up again")")
  }

  private func expire() {
    ledger.note("all access tokens expire")
    upstream.expireAccessTokens()
  }

  private func revoke() {
    ledger.note("the upstream revokes all that it has handed out")
    upstream.revokeAll()
    ledger.revokedAll(upstream.arrivals)
  }

  // MARK: The machine

  private mutating func toggleDisk() throws {
    guard host.hasDisk else { return }
    if host.isDiskFull {
      try host.freeDisk()
      ledger.note("the disk has room again")
    } else {
      ledger.note("the disk is full")
      host.fillDisk()
    }
  }

  private mutating func stepClock() throws {
    let days =
      steps.popLast()
      ?? [-1, 0, 1].filter { $0 != clockDays }.randomElement(using: &chance) ?? 0
    clockDays = days
    try host.stepClock(days: days)
    ledger.count { $0.steps += 1 }
    ledger.note("the daemon's wall clock is \(days == 0 ? "right" : "\(days) day off")")
    if days > 0 {
      // The upstream's clock runs ahead, too: every lifetime has passed.
      upstream.advanceClock(by: .seconds(86_400))
      ledger.note("the upstream's clock is a day ahead of what it was")
    }
  }

  private mutating func heal() throws {
    release()
    for (method, path) in routes { upstream.always(method, path, nil) }
    if isAway { try comeBack() }
    try host.setNames(known: true)
    try host.freeDisk()
    try host.stepClock(days: 0)
    ledger.note("all that was taken away is back")
  }
}
