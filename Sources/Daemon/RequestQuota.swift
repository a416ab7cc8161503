import BrewlogAPI
import Execution
import Platform

/// How many upstream requests one user of `Read=` may cause: `RequestsPerMinute=`, all at once if
/// it has rested, so that no user can drain the account's quota. Joining a request that is under
/// way costs nothing. A value.
struct RequestQuota {
  let perMinute: Int
  private var spent: [UInt32: Instant] = [:]
  /// Of how many users it knows something.
  var remembered: Int { spent.count }

  init(perMinute: Int) {
    self.perMinute = max(1, perMinute)
  }

  /// Takes one share, or says how long until there is one. The generic cell rate algorithm: one
  /// instant a user, and none for those who have rested.
  mutating func take(_ uid: UInt32, now: Instant) -> Duration? {
    let interval = Duration.seconds(60) / perMinute
    let virtual = max(spent[uid] ?? now, now)
    let next = virtual.advanced(by: interval)
    let excess = now.duration(to: next) - .seconds(60)
    if excess > .zero { return excess }
    if spent.count > 1_024 { spent = spent.filter { $0.value > now } }
    spent[uid] = next
    return nil
  }
}

/// The quota of each user, on the loop.
actor QuotaKeeper {
  nonisolated let unownedExecutor: UnownedSerialExecutor
  private let ground: any Ground
  private var quota: RequestQuota

  init(ground: any Ground, perMinute: Int) {
    self.ground = ground
    quota = RequestQuota(perMinute: perMinute)
    unownedExecutor = ground.asUnownedSerialExecutor()
  }

  func take(_ uid: UInt32) -> Duration? {
    quota.take(uid, now: ground.now)
  }
}
