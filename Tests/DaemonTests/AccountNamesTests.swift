import Configuration
import Glibc
import JSON
import Platform
import TestSupport
import Testing
import Varlink

@testable import Daemon

/// A name service that takes its time holds up nobody but the reload.
@Suite(.timeLimit(.minutes(1)))
struct AccountNamesTests {
  /// Blocks the thread that asks, as a name service does whose server is away.
  private final class SlowService: Sendable {
    private let isOpen = Locked(true)
    private let arrivals = Locked(0)

    var asked: Int { arrivals.withLock { $0 } }

    func close() { isOpen.withLock { $0 = false } }
    func open() { isOpen.withLock { $0 = true } }

    func answer(_ name: String) -> UInt32? {
      guard name == "late" else { return nil }
      let number = arrivals.withLock { count in
        count += 1
        return count
      }
      while !isOpen.withLock({ $0 }) { sched_yield() }
      // Nobody knew her when the daemon came up.
      return number > 1 ? 4_711 : nil
    }
  }

  @Test func `calls are answered while a reload waits for the name service`() async throws {
    let service = SlowService()
    let fixture = try await GraphFixture("[Access]\nRead=late\n") { service.answer($0) }
    await fixture.conduct.begin(fixture.graph, keeper: nil, socketPath: fixture.path)
    #expect(await fixture.mayRead(4_711) == false)
    service.close()
    let reloading = try WireClient(fixture.path)
    reloading.call("org.brewlog.Service.Reload")
    while service.asked < 2 { await Task.yield() }
    let other = try WireClient(fixture.path)
    other.call("org.brewlog.Session.Status")
    #expect(other.reply()?.contains("\"counters\"") == true)
    #expect(await fixture.mayRead(4_711) == false)
    service.open()
    #expect(reloading.reply()?.contains("\"changed\":[]") == true)
    #expect(await fixture.mayRead(4_711) == true)
    await fixture.close()
  }

  @Test func `numbers are not asked for`() {
    let accounts = AccountNames(asking: []) { _ in
      Issue.record("asked")
      return nil
    }
    #expect(accounts.userID(of: "1001") == 1_001)
    #expect(accounts.groupID(of: "2001") == 2_001)
    #expect(accounts.userID(of: "somebody") == nil)
  }

  @Test func `a user and a group of one name are two`() async {
    let accounts = await AccountNames.lookUp(["tea", "@tea"]) { $0 == "tea" ? 1 : 2 }
    #expect(accounts.userID(of: "tea") == 1)
    #expect(accounts.groupID(of: "tea") == 2)
    #expect(accounts.covers(["tea"]) && accounts.covers(["@tea", "tea"]))
    #expect(!accounts.covers(["coffee"]))
  }
}

extension GraphFixture {
  fileprivate func mayRead(_ uid: UInt32) async -> Bool {
    guard
      case .success(let bytes)? = await reply(
        to: "org.brewlog.Service.CanI", ["method": "org.brewlog.Session.Status"], uid: uid)
    else { return false }
    return String(decoding: bytes, as: UTF8.self).contains("\"allowed\":true")
  }
}
