import Execution
import Requests
import Session

/// One who follows the tip of the day.
struct TipFollower {
  let send: @Sendable (TipEntry) -> Bool
  let continuation: CheckedContinuation<FollowEnd, Never>
}

/// Why a follower is told no more.
package enum FollowEnd: Equatable, Sendable {
  case ended(TipError)
  case tooSlow
  case left
}

/// Followers of the tip of the day: told once at the start, then whenever it changes. As long as
/// there are any, the tip is asked for again when it is no longer fresh.
extension TipService {
  package func follow(
    _ demand: TipDemand, send: @escaping @Sendable (TipEntry) -> Bool
  ) async -> FollowEnd {
    let generation = await coordinator.generation
    do throws(TipError) {
      let first = try await fetch(.today, demand)
      guard send(first) else { return .tooSlow }
    } catch {
      return .ended(error)
    }
    let id = nextFollower
    nextFollower += 1
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // The handler may have run, or the session ended, before there was an entry.
        if Task.isCancelled {
          continuation.resume(returning: FollowEnd.left)
        } else if cache.generation != generation {
          continuation.resume(returning: FollowEnd.ended(explain(outdated)))
        } else {
          followers[id] = TipFollower(send: send, continuation: continuation)
          scheduleFollowing()
        }
      }
    } onCancel: {
      Task(executorPreference: ground) { await self.leaveFollowers(id) }
    }
  }

  private var outdated: SessionError { coordinator.assumeIsolated { $0.outdated } }

  private func leaveFollowers(_ id: UInt64) {
    followers.removeValue(forKey: id)?.continuation.resume(returning: .left)
    if followers.isEmpty { cancelFollowing() }
  }

  /// Tells the followers of a tip that differs from the one before.
  func announceToday(_ entry: TipEntry, replacing old: CachedTip?) {
    scheduleFollowing()
    guard entry.cached.tip != old?.tip else { return }
    for (id, follower) in followers.sorted(by: { $0.key < $1.key }) where !follower.send(entry) {
      followers[id] = nil
      follower.continuation.resume(returning: .tooSlow)
    }
  }

  /// The session has ended: so do those who follow its tip.
  func endFollowing(_ error: TipError) {
    cancelFollowing()
    let all = followers.sorted { $0.key < $1.key }
    followers = [:]
    for (_, follower) in all { follower.continuation.resume(returning: .ended(error)) }
  }

  private func cancelFollowing() {
    if let timer = followTimer { ground.cancel(timer) }
    followTimer = nil
  }

  /// When the held tip stops being fresh, or its day ends, and no more often than once a minute.
  private func scheduleFollowing() {
    cancelFollowing()
    guard !followers.isEmpty else { return }
    let now = ground.wallTime
    var wait = Duration.seconds(60)
    if let held = cache[.today], freshness.isFresh(held, now: now, maxAge: nil) {
      let rest = held.freshFor - freshness.age(of: held, now: now)
      wait = max(wait, min(rest, freshness.untilMidnight(now)))
    }
    followTimer = ground.schedule(at: ground.now.advanced(by: wait)) {
      Task(executorPreference: self.ground) { await self.followOn() }
    }
  }

  private func followOn() async {
    guard !followers.isEmpty else { return }
    // What it brings is announced where it is taken into the cache.
    _ = try? await fetch(.today, TipDemand(wait: .seconds(30)))
    scheduleFollowing()
  }
}
