import Glibc
import Platform
import TestSupport
import Testing
import Varlink

@Suite(.timeLimit(.minutes(1)))
struct DescriptorExhaustionTests {
  @Test func `without descriptors new connections are refused and old ones served`() async {
    // In a process of its own: the bound is the whole process's.
    await #expect(processExitsWith: .success) {
      var bound = rlimit(rlim_cur: 64, rlim_max: 64)
      guard setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &bound) == 0 else { exit(2) }
      let notices = Locked<[ServerNotice]>([])
      let fixture = try await ServerFixture(
        limits: Limits(), notice: { notice in notices.withLock { $0.append(notice) } }
      ) { _, _ in .now(success()) }
      let old = try fixture.connect()
      old.call("Now")
      guard old.reply() != nil else { exit(3) }

      var hoard: [Int32] = []
      while case let taken = dup(0), taken >= 0 { hoard.append(taken) }
      for _ in 0..<5 {
        close(hoard.removeLast())
        let refused = try fixture.connect()
        guard refused.reply() == nil else { exit(4) }
        old.call("Now")
        guard old.reply() != nil else { exit(5) }
        hoard.append(dup(0))
        _ = consume refused
      }
      let count = notices.withLock { $0.count }
      guard count == 1 else { exit(6) }

      for taken in hoard { close(taken) }
      let later = try fixture.connect()
      later.call("Now")
      guard later.reply() != nil else { exit(7) }
      await fixture.close()
    }
  }

  @Test func `without even one to refuse with the listener rests and then serves`() async {
    await #expect(processExitsWith: .success) {
      var limits = Limits()
      limits.acceptPause = .milliseconds(400)
      limits.noticeInterval = .zero
      let tries = Locked(0)
      let fixture = try await ServerFixture(
        limits: limits, notice: { _ in tries.withLock { $0 += 1 } }
      ) { _, _ in .now(success()) }
      let old = try fixture.connect()
      old.call("Now")
      guard old.reply() != nil else { exit(2) }

      // A client waits at the door, and from then on no number is low enough for a descriptor.
      let isHeld = Locked(true)
      let isHolding = Locked(false)
      fixture.thread.loop.perform {
        isHolding.withLock { $0 = true }
        while isHeld.withLock({ $0 }) { sched_yield() }
      }
      while !isHolding.withLock({ $0 }) { sched_yield() }
      let waiting = try fixture.connect()
      var bound = rlimit()
      let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
      guard getrlimit(kind, &bound) == 0 else { exit(3) }
      let usual = bound.rlim_cur
      bound.rlim_cur = 3
      guard setrlimit(kind, &bound) == 0 else { exit(4) }
      isHeld.withLock { $0 = false }
      while tries.withLock({ $0 }) == 0 { sched_yield() }
      // The loop turns at least once for each of these; what does not rest is tried in each turn.
      for _ in 0..<200 {
        old.call("Now")
        guard old.reply() != nil else { exit(5) }
      }
      guard tries.withLock({ $0 }) < 20 else { exit(6) }

      bound.rlim_cur = usual
      guard setrlimit(kind, &bound) == 0 else { exit(7) }
      waiting.call("Now")
      guard waiting.reply() != nil else { exit(8) }
      await fixture.close()
    }
  }
}
