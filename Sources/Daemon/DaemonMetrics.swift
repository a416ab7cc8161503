import BrewlogAPI
import Execution
import Platform
import Requests

/// What a request to the upstream was for.
enum UpstreamPurpose: String, CaseIterable, Sendable {
  case token, tips
}

/// How a request to the upstream ended.
enum UpstreamOutcome: String, CaseIterable, Sendable {
  case success, redirect, clientError, unauthorized, serverError
  case unreachable, lost, forbidden, malformed, invalidURL, cancelled

  init(status: Int) {
    self =
      switch status {
      case 401: .unauthorized
      case ..<300, 304: .success
      case ..<400: .redirect
      case ..<500: .clientError
      default: .serverError
      }
  }

  init(_ kind: TransportError.Kind) {
    self =
      switch kind {
      case .unreachable: .unreachable
      case .lost: .lost
      case .forbidden: .forbidden
      case .malformed: .malformed
      case .invalidURL: .invalidURL
      case .cancelled: .cancelled
      }
  }

  var label: String {
    switch self {
    case .clientError: "client_error"
    case .serverError: "server_error"
    case .invalidURL: "invalid_url"
    default: rawValue
    }
  }
}

/// What the daemon counts beside the counters that its parts keep: calls, requests and commits with
/// their durations. Counted on the loop and on the store's thread.
final class DaemonMetrics: Sendable {
  struct CallSeries: Sendable {
    var durations = Histogram(bounds: Histogram.localBounds)
    /// By the error's name; those without one are answered well.
    var errors: [String: Int] = [:]
  }

  struct UpstreamKey: Hashable, Sendable {
    var purpose: UpstreamPurpose
    var outcome: UpstreamOutcome
  }

  /// Counts the calls of one method.
  final class CallMeter: Sendable {
    private let series = Locked(CallSeries())

    var present: CallSeries { series.withLock { $0 } }

    func count(from start: Instant, to end: Instant, error: String?) {
      series.withLock { series in
        series.durations.record(
          nanoseconds: Int64(clamping: end.nanoseconds &- min(start.nanoseconds, end.nanoseconds)))
        if let error { series.errors[error, default: 0] += 1 }
      }
    }
  }

  struct State: Sendable {
    var upstream: [UpstreamKey: Histogram] = [:]
    var commits = Histogram(bounds: Histogram.localBounds)
    var commitStarted: Instant?
    var reloads = 0
    var failedReloads = 0
  }

  private let state = Locked(State())
  private let meters: [APIMethod: CallMeter]

  init() {
    meters = Dictionary(
      uniqueKeysWithValues: APIMethod.allCases.map { ($0, CallMeter()) })
  }

  var present: State { state.withLock { $0 } }

  /// The methods that were called so far.
  var calls: [APIMethod: CallSeries] {
    meters.mapValues(\.present).filter { $0.value.durations.count > 0 }
  }

  func meter(of method: APIMethod) -> CallMeter { meters[method] ?? CallMeter() }

  func countUpstream(_ purpose: UpstreamPurpose, _ outcome: UpstreamOutcome, took span: Duration) {
    let key = UpstreamKey(purpose: purpose, outcome: outcome)
    state.withLock { state in
      state.upstream[key, default: Histogram(bounds: Histogram.networkBounds)].record(span)
    }
  }

  /// The session's row is about to be written.
  func beginCommit(at now: Instant) {
    state.withLock { $0.commitStarted = now }
  }

  /// It is on disk.
  func endCommit(at now: Instant) {
    state.withLock { state in
      guard let started = state.commitStarted else { return }
      state.commitStarted = nil
      state.commits.record(started.duration(to: now))
    }
  }

  func countReload(succeeded: Bool) {
    state.withLock { state in
      if succeeded { state.reloads += 1 } else { state.failedReloads += 1 }
    }
  }
}

/// Durations, counted by upper bounds. A value.
struct Histogram: Sendable, Equatable {
  /// For what happens on this host: 20 µs to 10 s.
  static let localBounds: [Double] = [
    0.000_02, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 10,
  ]
  /// For what crosses a network: 5 ms to 60 s.
  static let networkBounds: [Double] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
  ]

  let bounds: [Double]
  /// The same in nanoseconds, which are compared faster than spans are divided.
  private let limits: [Int64]
  /// How many fell into each bucket, not yet added up; the last is past all bounds.
  private(set) var counts: [Int]
  private var nanoseconds: Int64 = 0

  init(bounds: [Double]) {
    self.bounds = bounds
    limits = bounds.map { Int64(($0 * 1e9).rounded()) }
    counts = [Int](repeating: 0, count: bounds.count + 1)
  }

  /// In seconds.
  var sum: Double { Double(nanoseconds) / 1e9 }

  var count: Int { counts.reduce(0, +) }

  mutating func record(_ span: Duration) {
    record(nanoseconds: span.clampedNanoseconds)
  }

  mutating func record(nanoseconds span: Int64) {
    let span = max(0, span)
    nanoseconds = nanoseconds.addingReportingOverflow(span).partialValue
    var bucket = 0
    while bucket < limits.count, span > limits[bucket] { bucket += 1 }
    counts[bucket] += 1
  }
}
