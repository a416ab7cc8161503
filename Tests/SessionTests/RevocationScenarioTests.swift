import Execution
import Platform
import Secrets
import Session
import Simulation
import TestSupport
import Testing

/// The revocation of old tokens, in virtual time: retried with backoff, given up after a day, and
/// sent nowhere but where the tokens came from.
@Suite(.timeLimit(.minutes(1)))
struct RevocationScenarioTests {
  /// An outbox that keeps dummies in memory, and forgets after a day as the real one does.
  final class Outbox: RevocationOutbox {
    struct Entry: Sendable {
      var pending: PendingRevocation
      var tokens: [String]
    }

    private let ground: ManualGround
    let entries = Locked<[Entry]>([])

    init(_ ground: ManualGround) { self.ground = ground }

    func put(_ number: Int64, binding: UpstreamBinding) throws {
      let session = try #require(SessionID(bytes: [UInt8](repeating: UInt8(number), count: 16)))
      let entry = Entry(
        pending: PendingRevocation(
          id: number, session: session, binding: binding, addedAt: ground.wallTime, tries: 0),
        tokens: ["dummy-refresh-\(number)", "dummy-access-\(number)"])
      entries.withLock { $0.append(entry) }
    }

    func add(_ record: consuming SessionRecord) async throws(StoreError) {}

    func dropExpired() async throws(StoreError) -> Int {
      let now = ground.wallTime
      return entries.withLock { entries in
        let all = entries.count
        entries.removeAll { $0.pending.addedAt.duration(to: now) > .seconds(86_400) }
        return all - entries.count
      }
    }

    func pending() async throws(StoreError) -> [PendingRevocation] {
      entries.withLock { $0.map(\.pending) }
    }

    func tokens(of id: Int64) async throws(StoreError) -> TokenPair? {
      guard let entry = entries.withLock({ $0.first { $0.pending.id == id } }) else { return nil }
      return TokenPair(
        access: Dummy.secret(entry.tokens[1]), refresh: Dummy.secret(entry.tokens[0]))
    }

    func recordTry(of id: Int64) async throws(StoreError) {
      entries.withLock { entries in
        for index in entries.indices where entries[index].pending.id == id {
          entries[index].pending.tries += 1
        }
      }
    }

    func remove(_ id: Int64) async throws(StoreError) {
      entries.withLock { $0.removeAll { $0.pending.id == id } }
    }

    func forgetAll() async throws(StoreError) { entries.withLock { $0 = [] } }
  }

  /// Answers as a test says.
  final class Revoker: TokenRevoker {
    let binding = UpstreamBinding(
      issuer: "https://id.example", clientID: "brewlog", apiOrigin: "https://api.example")
    let answer = Locked(RevocationResult.done)
    let sent = Locked<[(at: Instant, token: String)]>([])
    private let ground: ManualGround

    init(_ ground: ManualGround) { self.ground = ground }

    func revoke(
      _ token: consuming Secret, isRefreshToken: Bool, deadline: Instant
    ) async -> RevocationResult {
      let text = Dummy.text(token)
      let now = ground.now
      sent.withLock { $0.append((now, text)) }
      return answer.withLock { $0 }
    }
  }

  private struct Stage {
    let bench: Bench
    let outbox: Outbox
    let revoker: Revoker
    let revocations: RevocationCoordinator
    let events = Locked<[String]>([])

    init() throws {
      bench = try Bench.started(signedIn: false)
      outbox = Outbox(bench.ground)
      revoker = Revoker(bench.ground)
      let events = events
      revocations = RevocationCoordinator(
        ground: bench.ground, coordinator: bench.coordinator, outbox: outbox, revoker: revoker,
        report: { event in events.withLock { $0.append("\(event.kind) \(event.detail ?? "")") } })
    }

    func start() {
      _ = bench.call { [revocations] in await revocations.start() }
      bench.ground.advance(by: .zero)
    }

    var waiting: Int { bench.ground.perform { revocations.assumeIsolated { $0.waiting } } }
    var sent: [String] { revoker.sent.withLock { $0.map(\.token) } }
    var lines: [String] { events.withLock { $0 } }
  }

  private static let away = RevocationResult.unavailable(reason: "away", retryAfter: nil)

  @Test func `the refresh token goes first, then the access token`() throws {
    let stage = try Stage()
    try stage.outbox.put(1, binding: stage.revoker.binding)
    stage.start()
    #expect(stage.sent == ["dummy-refresh-1", "dummy-access-1"])
    #expect(stage.waiting == 0)
    #expect(stage.lines == ["revocationDone "])
    stage.bench.ground.advance(by: .seconds(86_400))
    #expect(stage.sent.count == 2)
  }

  @Test func `an upstream that is away is asked again, ever more slowly, for a day`() throws {
    let stage = try Stage()
    stage.revoker.answer.withLock { $0 = Self.away }
    try stage.outbox.put(1, binding: stage.revoker.binding)
    stage.start()
    #expect(stage.waiting == 1)
    stage.bench.ground.advance(by: .seconds(4_000))
    let times = stage.revoker.sent.withLock { $0.map(\.at) }
    let pauses = zip(times, times.dropFirst()).map { $0.duration(to: $1).secondsRoundedUp }
    #expect(pauses.prefix(10) == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300])
    #expect(stage.waiting == 1)
    // Told once, not for each try.
    #expect(stage.lines.count == 1)
    stage.bench.ground.advance(by: .seconds(83_000))
    #expect(stage.waiting == 0)
    #expect(stage.outbox.entries.withLock { $0.isEmpty })
    #expect(stage.lines.count == 2)
    #expect(stage.lines.last?.contains("given up") == true)
    #expect(stage.sent.count < 310)
    // Nothing more is sent.
    let count = stage.sent.count
    stage.bench.ground.advance(by: .seconds(86_400))
    #expect(stage.sent.count == count)
  }

  @Test func `an upstream that comes back gets it at the next try`() throws {
    let stage = try Stage()
    stage.revoker.answer.withLock { $0 = Self.away }
    try stage.outbox.put(1, binding: stage.revoker.binding)
    stage.start()
    stage.bench.ground.advance(by: .seconds(10))
    stage.revoker.answer.withLock { $0 = .done }
    stage.bench.ground.advance(by: .seconds(10))
    #expect(stage.waiting == 0)
    #expect(stage.lines.last == "revocationDone ")
  }

  @Test func `a wait that was asked for is kept, but not beyond the day`() throws {
    let stage = try Stage()
    stage.revoker.answer.withLock {
      $0 = .unavailable(reason: "busy", retryAfter: .seconds(1_000))
    }
    try stage.outbox.put(1, binding: stage.revoker.binding)
    stage.start()
    stage.bench.ground.advance(by: .seconds(999))
    #expect(stage.sent.count == 1)
    stage.revoker.answer.withLock {
      $0 = .unavailable(reason: "busy", retryAfter: .seconds(1_000_000_000))
    }
    stage.bench.ground.advance(by: .seconds(1))
    #expect(stage.sent.count == 2)
    stage.bench.ground.advance(by: .seconds(85_402))
    #expect(stage.waiting == 0)
    #expect(stage.lines.last?.contains("given up") == true)
  }

  @Test func `a refusal is final, and said`() throws {
    let stage = try Stage()
    stage.revoker.answer.withLock { $0 = .refused(reason: "unsupported_token_type") }
    try stage.outbox.put(1, binding: stage.revoker.binding)
    stage.start()
    #expect(stage.waiting == 0)
    #expect(stage.lines == ["revocationFailed unsupported_token_type"])
  }

  /// I2
  @Test func `tokens that have been signed in with again are not revoked`() throws {
    let pairs: [(String?, String?)] = [("dummy-access-1", nil), (nil, "dummy-refresh-1")]
    for pair in pairs {
      let stage = try Stage()
      try stage.bench.signIn(pair.0, pair.1)
      try stage.outbox.put(1, binding: stage.revoker.binding)
      stage.start()
      #expect(stage.sent.isEmpty)
      #expect(stage.waiting == 0)
      #expect(stage.lines.last?.contains("again") == true)
    }
  }

  /// I2
  @Test func `nothing is revoked while a session is on its way into the store`() throws {
    let stage = try Stage()
    let hold = stage.bench.store.hold(.after, .install)
    let signIn = stage.bench.importing("dummy-access-1", "dummy-refresh-1")
    stage.bench.ground.run()
    #expect(hold.isReached)
    try stage.outbox.put(1, binding: stage.revoker.binding)
    try stage.outbox.put(2, binding: stage.revoker.binding)
    stage.start()
    #expect(stage.sent.isEmpty)
    #expect(stage.waiting == 2)
    hold.open()
    stage.bench.ground.advance(by: .seconds(5))
    _ = try signIn.value()
    #expect(stage.sent == ["dummy-refresh-2", "dummy-access-2"])
    #expect(stage.waiting == 0)
  }

  /// I11
  @Test func `a token of another upstream is sent nowhere, and forgotten after its day`() throws {
    let stage = try Stage()
    var other = stage.revoker.binding
    other.issuer = "https://other.example"
    try stage.outbox.put(1, binding: other)
    stage.start()
    stage.bench.ground.advance(by: .seconds(86_000))
    #expect(stage.sent.isEmpty)
    #expect(stage.waiting == 1)
    stage.bench.ground.advance(by: .seconds(1_000))
    #expect(stage.sent.isEmpty)
    #expect(stage.waiting == 0)
  }
}
