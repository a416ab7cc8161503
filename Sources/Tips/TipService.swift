package import Execution
package import Requests
package import Session

/// The paths under which the API has its tips.
package struct TipPaths: Sendable {
  package var today: String
  /// `{id}` stands for one percent-encoded segment.
  package var item: String
  package var rating: String

  package init(
    today: String = "/tips/today", item: String = "/tips/{id}",
    rating: String = "/tips/{id}/rating"
  ) {
    self.today = today
    self.item = item
    self.rating = rating
  }

  func path(of key: TipKey) -> String {
    switch key {
    case .today: today
    case .item(let id): Self.fill(item, id)
    }
  }

  func ratingPath(of id: String) -> String { Self.fill(rating, id) }

  private static func fill(_ template: String, _ id: String) -> String {
    template.split(separator: "{id}", omittingEmptySubsequences: false)
      .joined(separator: PercentEncoding.encode(id))
  }
}

/// What a caller wants of a tip.
package struct TipDemand: Sendable {
  package var maxAge: Duration?
  package var cacheOnly: Bool
  package var wait: Duration
  /// Asked before an upstream request begins for this caller: nil, or how long it has to wait for
  /// its next share.
  package var admit: @Sendable () -> Duration?

  package init(
    maxAge: Duration? = nil, cacheOnly: Bool = false, wait: Duration,
    admit: @escaping @Sendable () -> Duration? = { nil }
  ) {
    self.maxAge = maxAge
    self.cacheOnly = cacheOnly
    self.wait = wait
    self.admit = admit
  }
}

/// Serves tips from the cache where that is allowed, and fetches them where it is not. Guards I6.
package actor TipService {
  package nonisolated let unownedExecutor: UnownedSerialExecutor
  let ground: any Ground
  let coordinator: SessionCoordinator
  let requester: ResilientRequester
  let store: any TipStore
  var freshness: Freshness
  var paths: TipPaths
  var fields: TipFields
  private let entropy: Entropy
  private let report: @Sendable (String) -> Void
  private var keep: Int
  var cache: TipCache { didSet { changed() } }
  private let changed: @Sendable () -> Void
  var loading = TipLoading()
  package internal(set) var counters = TipCounters()
  var followers: [UInt64: TipFollower] = [:]
  var nextFollower: UInt64 = 0
  var followTimer: TimerID?
  var aheadTimer: TimerID?
  private var storesSincePrune = 0
  /// Why tips are kept in memory only, if they are.
  package private(set) var storeFault: String?

  /// All three actors share one ground. `changed` hears, on it, that what ``fresh(_:)`` said holds no
  /// longer.
  package init(
    ground: any Ground, coordinator: SessionCoordinator, requester: ResilientRequester,
    store: any TipStore, freshness: Freshness, paths: TipPaths = TipPaths(), fields: TipFields,
    keep: Int = 1000, entropy: Entropy = .system,
    changed: @escaping @Sendable () -> Void = {},
    report: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    self.ground = ground
    self.coordinator = coordinator
    self.requester = requester
    self.store = store
    self.freshness = freshness
    self.paths = paths
    self.fields = fields
    self.keep = keep
    self.entropy = entropy
    self.changed = changed
    self.report = report
    cache = TipCache(capacity: keep)
    unownedExecutor = ground.asUnownedSerialExecutor()
  }

  /// Goes by another configuration from now on. What is cached stays; how long it is served is
  /// asked anew each time.
  package func adopt(freshness: Freshness, paths: TipPaths, fields: TipFields, keep: Int) {
    self.freshness = freshness
    self.paths = paths
    self.fields = fields
    self.keep = keep
    cache.resize(to: keep)
  }

  /// Follows the coordinator's boundaries; before it starts.
  package func follow() async {
    // Weakly: the coordinator is held from here, and would hold back.
    await coordinator.observe { [weak self] boundary in
      self?.assumeIsolated { $0.cross(boundary) }
    }
  }

  private func cross(_ boundary: Boundary) {
    switch boundary {
    case .moved(let generation, let session):
      cache.reset(to: generation, session: session)
      cancelAhead()
    case .published(let generation, let reason):
      // A logout that the store finished late: whoever follows now follows the next session's tip.
      guard generation == cache.generation else { return }
      endFollowing(.signedOut(generation: generation, reason: reason))
    }
  }

  /// The answer that can be given at once, without going upstream; nil: `fetch` has to.
  package func immediate(_ key: TipKey, _ demand: TipDemand) -> Result<TipEntry, TipError>? {
    // Whether it is held is not known yet.
    if loading.isUnderWay, demand.cacheOnly, cache[key] == nil { return nil }
    return held(key, demand)
  }

  private func held(_ key: TipKey, _ demand: TipDemand) -> Result<TipEntry, TipError>? {
    if let error = coordinator.assumeIsolated({ $0.unavailable }) {
      return .failure(explain(error))
    }
    if case .item(let id) = key, let reason = TipIdentifier.fault(in: id) {
      return .failure(.invalidID(reason: reason))
    }
    let now = ground.wallTime
    if let cached = cache[key], freshness.isFresh(cached, now: now, maxAge: demand.maxAge) {
      counters.cacheHits += 1
      return .success(entry(cached, .cache, now))
    }
    if demand.maxAge == nil, let cached = cache[key],
      freshness.mayRevalidateBehind(cached, now: now)
    {
      counters.cacheHits += 1
      revalidateBehind(key)
      return .success(entry(cached, .cache, now, stale: "a newer one is being asked for"))
    }
    if let missing = cache.missing(key, at: ground.now), demand.maxAge == nil {
      counters.cacheHits += 1
      return .failure(missing)
    }
    guard demand.cacheOnly else { return nil }
    guard let cached = cache[key] else {
      counters.cacheMisses += 1
      return .failure(
        .unavailable(
          reason: "this tip is not in the cache, and only the cache was asked",
          httpStatus: nil, retryAfter: nil))
    }
    counters.cacheHits += 1
    return .success(entry(cached, .cache, now, stale: "only the cache was asked"))
  }

  /// Asks upstream, with all who ask the same, and serves a stale tip where that is allowed.
  package func fetch(_ key: TipKey, _ demand: TipDemand) async throws(TipError) -> TipEntry {
    let deadline = ground.now.advanced(by: demand.wait)
    if cache[key] == nil { await stored(by: deadline) }
    if let answer = held(key, demand) { return try answer.get() }
    counters.cacheMisses += 1
    let known = cache[key]
    let generation = cache.generation
    do throws(RequestError) {
      let fetched = try await requester.send(
        endpoint(for: key, known), by: deadline, admit: demand.admit
      ) { fetched in
        await self.take(fetched, for: key, known)
      }
      return try answer(fetched, for: key, known)
    } catch {
      if case .notFound = error { forget(key, in: generation) }
      return try fallBack(key, generation, error)
    }
  }

  /// Asks for a tip that was served past its lifetime; at most once at a time, since equal requests
  /// share an attempt.
  private func revalidateBehind(_ key: TipKey) {
    Task(executorPreference: ground) {
      _ = try? await self.fetch(
        key, TipDemand(maxAge: .zero, wait: .seconds(30), admit: { nil }))
    }
  }

  /// Rates a tip. One key for all tries, so that a lost answer can be asked for again without
  /// counting twice.
  package func rate(
    _ id: String, _ rating: Int, wait: Duration, admit: @Sendable () -> Duration? = { nil }
  ) async throws(TipError) {
    if let reason = TipIdentifier.fault(in: id) { throw .invalidID(reason: reason) }
    let key = entropy.bytes(16).map { String($0, radix: 16) }.joined(separator: "")
    let body = Array("{\"rating\":\(rating)}".utf8)
    let endpoint = Endpoint<Bool>(
      .post, paths.ratingPath(of: id),
      fields: [
        HTTPField("Accept", "application/json"), HTTPField("Content-Type", "application/json"),
      ],
      repetition: .keyed(key), body: { body }, interpret: { _ in true })
    do throws(RequestError) {
      _ = try await requester.send(
        endpoint, by: ground.now.advanced(by: wait), admit: admit)
    } catch {
      throw explain(error, id: id)
    }
  }

  /// The cached tips, newest first, and where the next page begins.
  /// Only what is held: who asks before the stored tips are read waits for them first (`stored`).
  package func list(limit: Int, before: String?) throws(TipError) -> (
    entries: [TipEntry], next: (CachedTip) -> String
  ) {
    if let error = coordinator.assumeIsolated({ $0.unavailable }) { throw explain(error) }
    let cursor = before.flatMap { TipCache.Cursor(text: $0) }
    if before != nil, cursor == nil {
      throw .invalidID(reason: "`before` is not one that an earlier reply's `next` gave")
    }
    let now = ground.wallTime
    let entries = cache.newest(limit: limit, before: cursor).map { cached in
      let fresh = freshness.isFresh(cached, now: now, maxAge: nil)
      return entry(cached, .cache, now, stale: fresh ? nil : "past its freshness lifetime")
    }
    return (entries, { TipCache.Cursor($0).text })
  }

  package var cachedTips: Int { cache.count }

  /// Whether stored tips are still on their way into memory.
  package var isLoading: Bool { loading.isUnderWay }

  /// The tip of the day that is held, if any, with whether it is fresh.
  package func heldToday() -> TipEntry? {
    let now = ground.wallTime
    guard let cached = cache[.today] else { return nil }
    let fresh = freshness.isFresh(cached, now: now, maxAge: nil)
    return entry(cached, .cache, now, stale: fresh ? nil : "past its freshness lifetime")
  }

  func entry(
    _ cached: CachedTip, _ source: TipSource, _ now: WallTime, stale: String? = nil
  ) -> TipEntry {
    TipEntry(
      cached: cached, source: source, age: freshness.age(of: cached, now: now),
      staleReason: stale)
  }

  /// Keeps what an attempt brought, once, in memory and then on disk.
  private func take(_ fetched: Fetched<TipReply>, for key: TipKey, _ known: CachedTip?) async {
    guard let tip = cachedTip(fetched, for: key, known) else { return }
    let old = cache[key]
    guard fetched.value.caching.lifetime != nil, cache.insert(tip) else { return }
    if key == .today {
      announceToday(entry(tip, .network, ground.wallTime), replacing: old)
      scheduleAhead()
    }
    // The answer does not wait for the disk: a tip that is not stored is fetched again.
    Task(executorPreference: ground) { await self.put(tip) }
  }

  private func put(_ tip: CachedTip) async {
    guard let permit = await coordinator.permit(for: tip.generation) else { return }
    do throws(StoreError) {
      try await store.put(tip, permit: permit)
      storeFault = nil
      storesSincePrune += 1
      guard storesSincePrune >= 100 else { return }
      storesSincePrune = 0
      try await store.prune(keep: keep)
    } catch {
      note(error)
    }
  }

  /// The upstream has no such tip (any more).
  private func forget(_ key: TipKey, in generation: Generation) {
    let isStored = cache[key] != nil
    cache.remember(missing: key, at: ground.now, in: generation)
    guard isStored else { return }
    Task(executorPreference: ground) {
      guard let permit = await self.coordinator.permit(for: generation) else { return }
      // What stays on disk for a failure is asked for anew after its lifetime.
      try? await self.store.remove(key, permit: permit)
    }
  }

  /// A share of one, to spread by.
  func spread() -> Double { entropy.fraction() }

  func note(_ error: StoreError) {
    if case .generationMoved = error { return }
    if storeFault != error.reason { report(error.reason) }
    storeFault = error.reason
  }
}
