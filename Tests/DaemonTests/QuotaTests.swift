import Execution
import Testing

@testable import Daemon

@Suite(.timeLimit(.minutes(1)))
struct QuotaTests {
  private let start = Instant(nanoseconds: 1_000_000_000_000)

  @Test(arguments: [1, 2, 7, 60, 1_000])
  func `who has rested may take a minute's share at once and then one by one`(perMinute: Int) {
    var quota = RequestQuota(perMinute: perMinute)
    for number in 0..<perMinute {
      #expect(quota.take(1001, now: start) == nil, "share \(number)")
    }
    let wait = quota.take(1001, now: start)
    #expect(wait != nil)
    #expect((wait ?? .zero) <= .seconds(60) / perMinute + .nanoseconds(perMinute))
    // Refused ones cost nothing: after the wait there is one, and only one.
    let later = start.advanced(by: wait ?? .zero)
    #expect(quota.take(1001, now: later) == nil)
    #expect(quota.take(1001, now: later) != nil)
  }

  @Test func `no user takes from another`() {
    var quota = RequestQuota(perMinute: 1)
    #expect(quota.take(1001, now: start) == nil)
    #expect(quota.take(1001, now: start) != nil)
    #expect(quota.take(1002, now: start) == nil)
  }

  @Test func `over an hour it comes to no more than the rate and one burst`() {
    var quota = RequestQuota(perMinute: 10)
    var taken = 0
    for second in 0..<3600 {
      let now = start.advanced(by: .seconds(second))
      for _ in 0..<3 where quota.take(1001, now: now) == nil { taken += 1 }
    }
    #expect((600...610).contains(taken))
  }

  @Test func `thousands of users that have rested leave nothing behind`() {
    var quota = RequestQuota(perMinute: 60)
    for uid in 0..<UInt32(5_000) {
      #expect(quota.take(uid, now: start.advanced(by: .seconds(Int(uid) * 10))) == nil)
    }
    #expect(quota.remembered <= 1_100)
  }

  @Test func `a rate of nothing is taken as one`() {
    var quota = RequestQuota(perMinute: 0)
    #expect(quota.take(1001, now: start) == nil)
    #expect(quota.take(1001, now: start) == .seconds(60))
  }
}

@Suite(.timeLimit(.minutes(1)))
struct RefusalThrottleTests {
  private let start = Instant(nanoseconds: 1_000_000_000_000)
  private let logout = RefusalThrottle.Kind(uid: 1001, method: "org.brewlog.Session.Logout")

  @Test func `the first is written and its like are counted until the interval is over`() {
    var throttle = RefusalThrottle()
    #expect(throttle.admit(logout, pid: 10, at: start) == true)
    for pid in 11...20 as ClosedRange<Int32> {
      #expect(throttle.admit(logout, pid: pid, at: start.advanced(by: .seconds(4))) == false)
    }
    #expect(throttle.summaries(at: start.advanced(by: .milliseconds(4_999))) == [])
    let due = start.advanced(by: .seconds(5))
    #expect(throttle.summaries(at: due) == [.init(kind: logout, pid: 20, count: 10)])
    // It goes on, and is held back on; when it has ended it is news again.
    #expect(throttle.admit(logout, pid: 21, at: due) == false)
    let second = due.advanced(by: .seconds(5))
    #expect(throttle.summaries(at: second) == [.init(kind: logout, pid: 21, count: 1)])
    let third = second.advanced(by: .seconds(5))
    #expect(throttle.summaries(at: third) == [])
    #expect(throttle.isEmpty)
    #expect(throttle.admit(logout, pid: 22, at: third) == true)
  }

  @Test func `another user and another method have lines of their own`() {
    var throttle = RefusalThrottle()
    #expect(throttle.admit(logout, pid: 10, at: start) == true)
    var other = logout
    other.uid = 1002
    #expect(throttle.admit(other, pid: 10, at: start) == true)
    other = logout
    other.method = "org.brewlog.Session.Inspect"
    #expect(throttle.admit(other, pid: 10, at: start) == true)
  }

  @Test func `its memory is bounded`() {
    var throttle = RefusalThrottle()
    var written = 0
    for uid in 0..<UInt32(5_000) {
      let kind = RefusalThrottle.Kind(uid: uid, method: "m")
      if throttle.admit(kind, pid: 1, at: start) { written += 1 }
    }
    #expect(written == RefusalThrottle.mostKinds)
    #expect(throttle.summaries(at: start.advanced(by: .seconds(5))) == [])
    #expect(throttle.isEmpty)
  }

  @Test(arguments: [
    ("0::/system.slice/coffee.service\n", "coffee.service"),
    ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope\n", "app-x.scope"),
    ("12:pids:/x.service\n1:name=systemd:/system.slice/tea.service\n", "tea.service"),
    ("0::/\n", nil), ("", nil), ("0::/user.slice\n", nil), ("::::\n\n", nil),
  ])
  func `the unit is the innermost of the path`(text: String, unit: String?) {
    #expect(PeerUnit.unit(in: text) == unit)
  }

  @Test func `a process that is not there has no unit`() {
    #expect(PeerUnit.name(of: 0) == nil)
    #expect(PeerUnit.name(of: .max) == nil)
  }
}
