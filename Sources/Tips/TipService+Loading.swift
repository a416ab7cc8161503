package import Execution
import Session

/// The stored tips on their way into memory. A daemon with thousands of them is ready when it has
/// today's: who misses the cache while the others are read waits for them, and goes upstream no
/// sooner.
struct TipLoading {
  var isUnderWay = false
  var waiters: [UInt64: LoadingWaiter] = [:]
  var nextWaiter: UInt64 = 0
}

/// One caller that waits for the stored tips: it leaves alone, at its deadline or its cancellation,
/// or with all others when they are there (I7).
struct LoadingWaiter {
  let timer: TimerID
  let continuation: CheckedContinuation<Void, Never>
}

extension TipService {
  /// Takes up the tip of the day, and makes ready for the other stored tips of the session that the
  /// coordinator has restored; before the first call is served, and with ``load()`` after it.
  package func expectStored() async {
    let generation = await coordinator.generation
    guard let session = await coordinator.session(of: generation) else { return }
    cache.reset(to: generation, session: session)
    loading.isUnderWay = true
    // What goes wrong here is found, and said, when all are loaded.
    let today = try? await store.stored(.today, session: session, generation: generation)
    if let today, cache.insert(today) { scheduleAhead() }
  }

  /// Takes up the stored tips. A tip store that cannot be read costs the tips, not the session.
  package func load() async {
    guard loading.isUnderWay else { return }
    let generation = cache.generation
    if let session = cache.session {
      do throws(StoreError) {
        // The cache refuses them all if the session has ended meanwhile (I6).
        cache.fill(with: try await store.load(session: session, generation: generation))
        scheduleAhead()
      } catch {
        note(error)
      }
    }
    loading.isUnderWay = false
    let all = loading.waiters.sorted { $0.key < $1.key }
    loading.waiters = [:]
    for (_, waiter) in all {
      ground.cancel(waiter.timer)
      waiter.continuation.resume()
    }
  }

  /// Returns when the stored tips are there, and no later than at the deadline or the caller's
  /// cancellation; what then follows sees to these itself.
  package func stored(by deadline: Instant) async {
    guard loading.isUnderWay else { return }
    let id = loading.nextWaiter
    loading.nextWaiter += 1
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // The handler may have run, or the tips have come, before there was an entry.
        if Task.isCancelled || !loading.isUnderWay {
          continuation.resume()
          return
        }
        let timer = ground.schedule(at: deadline) { self.assumeIsolated { $0.stopWaiting(id) } }
        loading.waiters[id] = LoadingWaiter(timer: timer, continuation: continuation)
      }
    } onCancel: {
      Task(executorPreference: ground) { await self.stopWaiting(id) }
    }
  }

  private func stopWaiting(_ id: UInt64) {
    guard let waiter = loading.waiters.removeValue(forKey: id) else { return }
    ground.cancel(waiter.timer)
    waiter.continuation.resume()
  }
}
