import Execution
import Session
import Testing

@testable import Simulation

/// The rule that counts refreshes: each has a cause of its own.
@Suite(.timeLimit(.minutes(1)))
struct CauseTests {
  private static let start = WallTime(milliseconds: 1_800_000_000_000)
  private let disk: MemoryDisk

  init() throws {
    let id = try #require(SessionID(bytes: Array(repeating: 0xA, count: 16)))
    var disk = MemoryDisk()
    try disk.install(
      MemoryDisk.Row(
        facts: SessionFacts(
          id: id, generation: Generation(1),
          binding: UpstreamBinding(issuer: "i", clientID: "c", apiOrigin: "o"), account: "A",
          accountVerified: true, signedInAt: Self.start, scope: nil,
          accessTokenReceivedAt: Self.start,
          accessTokenExpiresAt: Self.start.advanced(by: .seconds(40))),
        access: "A.a0", refresh: "A.r0"))
    self.disk = disk
  }

  /// What happens in a run, and whether a refresh may start then.
  enum Step: Equatable, Sendable {
    case call(World.Call)
    case answer(World.Call)
    case reject(String)
    case start(RefreshFlight.Cause, at: Int)
    case land(at: Int)
    case restart
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let steps: [Step]
    /// The invariant that the last step breaks, if any.
    let broken: String?

    init(_ description: String, _ steps: [Step], _ broken: String? = nil) {
      testDescription = description
      self.steps = steps
      self.broken = broken
    }
  }

  private func ledger(after steps: ArraySlice<Step>) -> Ledger {
    var ledger = Ledger()
    ledger.storeChanged(disk)
    var rotation = 0
    for step in steps {
      switch step {
      case .call(let call): ledger.causes.called(call)
      case .answer(let call): ledger.causes.answered(call)
      case .reject(let token): ledger.causes.rejected(token)
      case .start(let cause, let second):
        ledger.refreshStarted(
          cause.rawValue, generation: Generation(1), disk: disk,
          at: Self.start.advanced(by: .seconds(second)))
      case .land(let second):
        rotation += 1
        ledger.causes.brought = ("A.a\(rotation)", Self.start.advanced(by: .seconds(second)))
        ledger.refreshSucceeded(lifetime: .seconds(40))
      case .restart: ledger.restarted(disk)
      }
    }
    return ledger
  }

  /// Seconds after the sign-in; a token lives for 40.
  static let cases = [
    Case("a caller asks", [.call(.refresh), .start(.explicit, at: 0)]),
    Case("nobody asks", [.start(.explicit, at: 0)], "I1"),
    Case(
      "one caller, two refreshes",
      [.call(.refresh), .start(.explicit, at: 0), .start(.explicit, at: 1)], "I1"),
    Case(
      "who asked has been answered",
      [.call(.refresh), .call(.refresh), .answer(.refresh), .answer(.refresh)]
        + [.start(.explicit, at: 1)], "I1"),
    Case(
      "who asked was killed", [.call(.refresh), .restart, .start(.explicit, at: 1)], "I1"),
    Case("a request is rejected", [.call(.today), .reject("A.a0"), .start(.rejected, at: 0)]),
    Case("none is rejected", [.call(.today), .start(.rejected, at: 0)], "I1"),
    Case(
      "one rejection, two refreshes",
      [.call(.today), .call(.tip("1")), .reject("A.a0"), .start(.rejected, at: 0)]
        + [.start(.rejected, at: 1)], "I1"),
    Case(
      "two rejections of one token, which is replaced between them",
      [.call(.today), .call(.tip("1")), .reject("A.a0"), .reject("A.a0")]
        + [.start(.rejected, at: 0), .land(at: 0), .start(.rejected, at: 1)], "I1"),
    Case(
      "two rejections of one token, and the first refresh fails",
      [.call(.today), .call(.tip("1")), .reject("A.a0"), .reject("A.a0")]
        + [.start(.rejected, at: 0), .start(.rejected, at: 1)]),
    Case(
      "one request, two rejections",
      [.call(.today), .reject("A.a0"), .start(.rejected, at: 0), .land(at: 0), .reject("A.a1")]
        + [.start(.rejected, at: 1)], "I3"),
    Case("a request finds the token's end", [.call(.rate), .start(.expired, at: 40)]),
    Case("a request finds a good token", [.call(.rate), .start(.expired, at: 39)], "I1"),
    Case("no request finds the token's end", [.start(.expired, at: 40)], "I3"),
    Case("half a short life is over", [.start(.proactive, at: 20)]),
    Case("it is not over", [.start(.proactive, at: 19)], "I1"),
    Case("that of the new token is over", [.land(at: 30), .start(.proactive, at: 50)]),
    Case("that of the old token is over", [.land(at: 30), .start(.proactive, at: 49)], "I1"),
    Case("fresh tokens are rejected five times", loop(of: 5)),
    Case("fresh tokens are rejected six times", loop(of: 6), "no loop"),
  ]

  private static func loop(of count: Int) -> [Step] {
    (0..<count).flatMap { number -> [Step] in
      [.call(.tip("\(number)")), .reject("A.a\(number)"), .start(.rejected, at: number)]
        + (number + 1 < count ? [.land(at: number)] : [])
    }
  }

  @Test(arguments: cases)
  func `a refresh without a cause of its own is a violation`(example: Case) {
    #expect(ledger(after: example.steps.dropLast()).violations.isEmpty)
    let violations = ledger(after: example.steps[...]).violations
    #expect(
      violations.map { String($0.prefix { $0 != ":" }) } == (example.broken.map { [$0] } ?? []))
  }

  @Test func `what is sent without a refresh that has started is a violation`() throws {
    let facts = try #require(disk.row?.facts)
    var ledger = ledger(after: [.call(.refresh), .start(.explicit, at: 0)])
    for _ in 0..<2 {
      ledger.exchangeSent(
        "A.r0", session: facts.id, generation: facts.generation, disk: disk,
        binding: facts.binding, wallTime: Self.start)
      ledger.exchangeEnded()
    }
    #expect(ledger.violations.filter { $0.contains("no refresh that has started") }.count == 1)
  }
}
