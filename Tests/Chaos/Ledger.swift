import Execution
import Platform

/// What is known of the day without asking the daemon: what was done to it, what it has promised in
/// its replies, and what it broke. Shared by all threads.
final class Ledger: Sendable {
  /// The newest state that a reply has promised to last. Nothing that is asked later may be older.
  struct Floor {
    var generation: Int64 = 0
    var isSignedOut = true
    var rotations: Int64 = 0
  }

  /// A call that is under way: what had been promised, and what had been done, when it was sent.
  struct Sent {
    let floor: Floor
    let order: Int
    let run: Int
    let fullDisks: Int
    let at: Instant
  }

  /// A sign-in or a logout that was answered with success.
  struct Move {
    let kind: String
    let generation: Int64
    let account: String?
    let sent: Int
    let answered: Int
    /// The disk was full at some time of the call: its history may be lost to a kill.
    let onFullDisk: Bool
  }

  struct Counts {
    var calls = 0
    var answered = 0
    var cutOff = 0
    var kills = 0
    var starts = 0
    var outages = 0
    var steps = 0
    var upgrades = 0
    var logouts = 0
    var logoutsSent = 0
    var signIns = 0
  }

  private struct State {
    var counts = Counts()
    var floor = Floor()
    var order = 0
    var endedRun = 0
    var fullDisks = 0
    var isDiskFull = false
    var moves: [Move] = []
    var cuts: [Int] = []
    var revocations: [Int] = []
    var signIns: [String: Int] = [:]
    var story: [String] = []
    var violations: [String] = []
  }

  private static let storyLength = 80
  private let state = Locked(State())
  private let begin = SystemClock.now

  var counts: Counts { state.withLock { $0.counts } }
  var moves: [Move] { state.withLock { $0.moves } }
  var violations: [String] { state.withLock { $0.violations } }
  var story: [String] { state.withLock { $0.story } }
  var floor: Floor { state.withLock { $0.floor } }
  var fullDisks: Int { state.withLock { $0.fullDisks } }

  func count(_ body: (inout Counts) -> Void) { state.withLock { body(&$0.counts) } }

  /// One line of the story; never a token.
  func note(_ text: String) {
    let line = stamp + text
    state.withLock {
      $0.story.append(line)
      if $0.story.count > Self.storyLength { $0.story.removeFirst() }
    }
  }

  func violate(_ text: String) {
    note("VIOLATED: " + text)
    state.withLock { if $0.violations.count < 20 { $0.violations.append(text) } }
  }

  private var stamp: String {
    let tenths = Int(begin.duration(to: SystemClock.now) / .milliseconds(10))
    let cents = tenths % 100
    return "\(tenths / 100).\(cents < 10 ? "0" : "")\(cents) s  "
  }

  // MARK: What the script does

  /// Before the signal is sent: whoever sees the end of a connection finds it here.
  func endRun(_ run: Int, upstreamArrivals: Int) {
    state.withLock {
      $0.endedRun = run
      $0.cuts.append(upstreamArrivals)
    }
  }

  func hasEnded(run: Int) -> Bool { state.withLock { $0.endedRun >= run } }

  /// Answers under way were cut off when the upstream had had so many requests.
  func cutAnswers(_ upstreamArrivals: Int) {
    state.withLock { $0.cuts.append(upstreamArrivals) }
  }

  /// Whoever had to wait while the machine gave nobody a turn may have given up: requests were in
  /// flight from the one number to the other.
  func stoodStill(_ requests: ClosedRange<Int>) {
    note("the machine stood still")
    state.withLock { $0.cuts += requests }
  }

  /// Whether an answer to the request `first` may have been lost before `second` came.
  func wasCut(between first: Int, and second: Int) -> Bool {
    state.withLock { $0.cuts.contains { $0 > first && $0 <= second } }
  }

  func revokedAll(_ upstreamArrivals: Int) {
    state.withLock { $0.revocations.append(upstreamArrivals) }
  }

  /// Whether the script has had the upstream revoke this sign-in before the request.
  func wasRevoked(origin: String, before request: Int) -> Bool {
    state.withLock { state in
      let since = state.signIns[origin] ?? 0
      return state.revocations.contains { $0 >= since && $0 <= request }
    }
  }

  func obtained(_ origin: String, upstreamArrivals: Int) {
    state.withLock { $0.signIns[origin] = upstreamArrivals }
  }

  func setDisk(full: Bool) {
    state.withLock {
      if full { $0.fullDisks += 1 }
      $0.isDiskFull = full
    }
  }

  // MARK: What callers see

  func send(run: Int) -> Sent {
    state.withLock {
      $0.order += 1
      $0.counts.calls += 1
      return Sent(
        floor: $0.floor, order: $0.order, run: run,
        fullDisks: $0.isDiskFull ? $0.fullDisks - 1 : $0.fullDisks, at: SystemClock.now)
    }
  }

  func answered() { state.withLock { $0.counts.answered += 1 } }

  /// The connection ended before the reply. Right only if its daemon was ended.
  func cutOff(_ sent: Sent, _ method: String) {
    count { $0.cutOff += 1 }
    if !hasEnded(run: sent.run) {
      violate("\(method): the connection ended without a reply, and nobody had ended the daemon")
    }
  }

  func diskWasFull(since sent: Sent) -> Bool {
    state.withLock { $0.fullDisks > sent.fullDisks }
  }

  /// A reply that shows the session.
  func saw(_ seen: Sighting, since sent: Sent, in method: String) {
    let old = sent.floor
    let shown = "generation \(seen.generation), \(seen.state), \(seen.rotations) rotations"
    let promised =
      "generation \(old.generation), \(old.isSignedOut ? "signedOut" : "signedIn"), "
      + "\(old.rotations) rotations"
    if seen.generation < old.generation {
      violate("\(method) shows \(shown) after \(promised) had been shown")
    } else if seen.generation == old.generation, old.generation > 0 {
      if seen.isSignedOut != old.isSignedOut
        || (!seen.isSignedOut && seen.rotations < old.rotations)
      {
        violate("\(method) shows \(shown) after \(promised) had been shown")
      }
    }
    if seen.isDurable { promise(seen) }
  }

  private func promise(_ seen: Sighting) {
    state.withLock {
      if seen.generation > $0.floor.generation {
        $0.floor = Floor(
          generation: seen.generation, isSignedOut: seen.isSignedOut, rotations: seen.rotations)
      } else if seen.generation == $0.floor.generation {
        $0.floor.rotations = max($0.floor.rotations, seen.rotations)
      }
    }
  }

  /// A reply that belongs to a generation: nothing of an earlier one may be answered any more.
  func saw(generation: Int64, since sent: Sent, in method: String) {
    if generation < sent.floor.generation {
      violate(
        "\(method) was answered from generation \(generation) after generation "
          + "\(sent.floor.generation) had been shown")
    }
  }

  func moved(_ kind: String, to generation: Int64, account: String?, since sent: Sent) {
    let onFullDisk = diskWasFull(since: sent)
    state.withLock {
      $0.order += 1
      $0.moves.append(
        Move(
          kind: kind, generation: generation, account: account, sent: sent.order,
          answered: $0.order, onFullDisk: onFullDisk))
    }
    promise(
      Sighting(
        generation: generation, state: kind == "signedOut" ? kind : "signedIn", rotations: 0,
        isDurable: true))
  }
}

/// The session as a reply shows it.
struct Sighting {
  var generation: Int64
  var state: String
  var rotations: Int64
  var isDurable: Bool

  var isSignedOut: Bool { state == "signedOut" }
}
