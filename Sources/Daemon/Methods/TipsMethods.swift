import BrewlogAPI
import Configuration
import Execution
import JSON
import Platform
import Tips
import Varlink

extension TipKey {
  /// What `Today` or `Get` asks for where it has no other parameters than the id.
  init?(plainCall method: APIMethod, _ parameters: [String: JSONValue]) {
    switch (method, parameters.count) {
    case (.today, 0): self = .today
    case (.get, 1):
      guard let id = parameters["id"]?.string, TipIdentifier.fault(in: id) == nil else {
        return nil
      }
      self = .item(id)
    default: return nil
    }
  }
}

/// `org.brewlog.Tips`.
extension MethodHandler {
  func today(
    _ parameters: inout ParameterReader, _ call: Call, _ caller: Caller
  ) throws(VarlinkError) -> Answer {
    let demand = try demand(&parameters, caller)
    try parameters.finish()
    return call.more ? follow(demand) : serve(.today, demand)
  }

  private func follow(_ demand: TipDemand) -> Answer {
    .stream { stream in
      let end = await self.tips.follow(demand) { entry in
        guard case .success(let bytes) = self.encode(SnapshotMapping.entry(entry)) else {
          return true
        }
        do throws(StreamFailure) {
          try stream.send(bytes)
          return true
        } catch {
          return false
        }
      }
      switch end {
      case .ended(let error): return .failure(ErrorMapping.map(error))
      case .tooSlow: return .failure(APIError.tipsTooSlow.varlinkError)
      // The client has gone, and nobody reads it; or the daemon is stopping.
      case .left:
        return .failure(APIError.unavailable(reason: "the daemon is stopping").varlinkError)
      }
    }
  }

  func get(
    _ parameters: inout ParameterReader, _ caller: Caller
  ) throws(VarlinkError) -> Answer {
    let id = try identifier(&parameters)
    let demand = try demand(&parameters, caller)
    try parameters.finish()
    return serve(.item(id), demand)
  }

  /// In place where the cache has the answer; by a task where the upstream is asked.
  private func serve(_ key: TipKey, _ demand: TipDemand) -> Answer {
    if let answer = tips.assumeIsolated({ $0.immediate(key, demand) }) {
      return .now(reply(answer))
    }
    return .later {
      do throws(TipError) {
        return self.reply(.success(try await self.tips.fetch(key, demand)))
      } catch {
        return self.reply(.failure(error))
      }
    }
  }

  private func reply(_ answer: Result<TipEntry, TipError>) -> Reply {
    switch answer {
    case .success(let entry): encode(SnapshotMapping.entry(entry))
    case .failure(let error): .failure(ErrorMapping.map(error))
    }
  }

  func list(_ parameters: inout ParameterReader) throws(VarlinkError) -> Answer {
    let limit = try parameters.optionalInt("limit", in: 1...1000) ?? 100
    let before = try parameters.optionalString("before")
    try parameters.finish()
    let isLoading = tips.assumeIsolated { $0.isLoading }
    guard isLoading else { return .now(list(limit, before)) }
    return .later {
      await self.tips.stored(by: self.loop.now.advanced(by: Self.patience))
      return self.list(limit, before)
    }
  }

  /// How long a list waits for the stored tips of a daemon that has just started.
  private static let patience = Duration.seconds(5)

  private func list(_ limit: Int, _ before: String?) -> Reply {
    let page = tips.assumeIsolated { tips in
      Result<Page, TipError> { () throws(TipError) in
        let (entries, next) = try tips.list(limit: limit + 1, before: before)
        let cut = entries.prefix(limit)
        return Page(
          entries: cut.map(SnapshotMapping.entry), cursors: cut.map { next($0.cached) },
          isWhole: entries.count <= limit)
      }
    }
    switch page {
    case .success(let page): return reply(page)
    case .failure(.invalidID): return .failure(.invalidParameter("before"))
    case .failure(let error): return .failure(ErrorMapping.map(error))
    }
  }

  private struct Page: Sendable {
    var entries: [Entry]
    /// Where the list goes on behind each entry.
    var cursors: [String]
    var isWhole: Bool
  }

  /// Fewer entries than asked for where the reply would pass 512 kB; always at least one.
  private func reply(_ page: Page) -> Reply {
    var count = page.entries.count
    while true {
      let isCut = count < page.entries.count || !page.isWhole
      let reply = encode(
        ListReply(
          entries: Array(page.entries.prefix(count)),
          next: isCut && count > 0 ? page.cursors[count - 1] : nil))
      guard case .success(let bytes) = reply, bytes.count > 512_000, count > 1 else {
        return reply
      }
      count = max(1, min(count - 1, count * 500_000 / bytes.count))
    }
  }

  func rate(
    _ parameters: inout ParameterReader, _ caller: Caller
  ) throws(VarlinkError) -> Answer {
    let id = try identifier(&parameters)
    let rating = try parameters.int("rating", in: 1...5)
    let wait = try wait(&parameters)
    try parameters.finish()
    return .later {
      do throws(TipError) {
        try await self.tips.rate(id, rating, wait: wait, admit: self.admission(of: caller))
        return self.encode(EmptyReply())
      } catch {
        return .failure(ErrorMapping.map(error))
      }
    }
  }

  /// Those of the tips, with what was answered before they were asked.
  var cacheCounters: TipCounters {
    var counters = tips.assumeIsolated { $0.counters }
    counters.cacheHits += texts.served
    return counters
  }

  private func identifier(_ parameters: inout ParameterReader) throws(VarlinkError) -> String {
    let id = try parameters.string("id")
    if TipIdentifier.fault(in: id) != nil { throw .invalidParameter("id") }
    return id
  }

  /// Those of `Control=` are not limited; the others have a share each.
  private func admission(of caller: Caller) -> @Sendable () -> Duration? {
    if access.mayControl(caller.peer) { return { nil } }
    let (quota, uid) = (quota, caller.peer.uid)
    return { quota.assumeIsolated { $0.take(uid) } }
  }

  private func demand(
    _ parameters: inout ParameterReader, _ caller: Caller
  ) throws(VarlinkError) -> TipDemand {
    let maxAge = try parameters.optionalInt("maxAgeSeconds", in: 0...Int.max)
    let cacheOnly = try parameters.optionalBool("cacheOnly") ?? false
    return TipDemand(
      maxAge: maxAge.map { .seconds(min($0, Self.longestSeconds)) }, cacheOnly: cacheOnly,
      wait: try wait(&parameters), admit: admission(of: caller))
  }

  /// `waitSeconds`, by default `RequestTimeout=`.
  func wait(_ parameters: inout ParameterReader) throws(VarlinkError) -> Duration {
    guard let seconds = try parameters.optionalInt("waitSeconds", in: 0...Int.max) else {
      return configuration.upstream.requestTimeout
    }
    return .seconds(min(seconds, Self.longestSeconds))
  }

  /// A year: beyond it a span only risks arithmetic.
  static var longestSeconds: Int { 366 * 86_400 }
}
