import BrewlogAPI
import Execution
import Platform
import Requests
import Session
import Tips
import Varlink

/// `org.brewlog.Service.Metrics`, in the OpenMetrics text format.
extension MethodHandler {
  func metrics(_ parameters: inout ParameterReader) throws(VarlinkError) -> Answer {
    try parameters.finish()
    var text = OpenMetricsText()
    text.info("brewlog_build", "The running daemon.", [.init("version", BrewlogDaemon.version)])
    text.gauge(
      "brewlog_uptime_seconds", unit: "seconds", "How long the daemon has been running.",
      [([], startedAt.duration(to: loop.now) / .seconds(1))])
    session(&text)
    counters(&text)
    let measured = conduct.metrics.present
    calls(conduct.metrics.calls, &text)
    upstream(measured, &text)
    text.histogram(
      "brewlog_store_commit_duration_seconds", unit: "seconds",
      "How long a write of the session took until it was on disk.", [([], measured.commits)])
    text.counter(
      "brewlog_configuration_reloads", "Reloads of the configuration, by whether it was valid.",
      [
        ([.init("result", "success")], measured.reloads),
        ([.init("result", "refused")], measured.failedReloads),
      ])
    return .now(encode(MetricsReply(openMetrics: text.finished())))
  }

  private func session(_ text: inout OpenMetricsText) {
    let (session, waiting) = coordinator.assumeIsolated { ($0.snapshot(), $0.waiting) }
    let state =
      switch session.phase {
      case .signedIn: "signed_in"
      case .signedOut: "signed_out"
      case .suspended: "suspended"
      }
    text.stateSet(
      "brewlog_session_state", "The session's state.", ["signed_in", "signed_out", "suspended"],
      present: state)
    text.gauge(
      "brewlog_session_durable", "Whether the newest state is on disk.",
      [([], session.durable ? 1 : 0)])
    if let expires = session.facts?.accessTokenExpiresAt {
      text.gauge(
        "brewlog_access_token_expiry_timestamp_seconds", unit: "seconds",
        "When the access token expires.", [([], Double(expires.milliseconds) / 1000)])
    }
    text.gauge(
      "brewlog_refresh_waiters", "Callers that wait for the refresh under way.",
      [([], Double(waiting))])
    let (connections, inFlight, cached) = conduct.assumeIsolated { conduct in
      (
        conduct.graph?.server.assumeIsolated { $0.connectionCount } ?? 0,
        conduct.graph?.transport.assumeIsolated { $0.inFlight } ?? 0,
        tips.assumeIsolated { $0.cachedTips }
      )
    }
    text.gauge("brewlog_connections", "Connected clients.", [([], Double(connections))])
    text.gauge(
      "brewlog_upstream_requests_in_flight", "Requests that wait for the upstream.",
      [([], Double(inFlight))])
    text.gauge("brewlog_cached_tips", "Tips in the cache.", [([], Double(cached))])
    text.gauge(
      "brewlog_event_watchers", "Clients that follow the session's events.",
      [([], Double(events.assumeIsolated { $0.watcherCount }))])
  }

  private func counters(_ text: inout OpenMetricsText) {
    let refreshes = coordinator.assumeIsolated { $0.counters }
    let requests = requester.assumeIsolated { $0.counters }
    let cache = cacheCounters
    text.counter(
      "brewlog_refreshes_started", "Refreshes that were begun.", [([], refreshes.refreshesStarted)])
    text.counter(
      "brewlog_refreshes", "Refreshes that have ended, by result.",
      [
        ([.init("result", "success")], refreshes.refreshesSucceeded),
        ([.init("result", "failure")], refreshes.refreshesFailed),
      ])
    text.counter(
      "brewlog_refresh_waiters_joined", "Callers that shared a refresh under way.",
      [([], refreshes.refreshWaitersJoined)])
    text.counter(
      "brewlog_late_results_rejected", "Upstream results that came after their session's end.",
      [([], refreshes.lateResultsRejected)])
    text.counter(
      "brewlog_requests_deduplicated", "Callers that shared a request under way.",
      [([], requests.requestsDeduplicated)])
    text.counter("brewlog_retries", "Requests that were tried again.", [([], requests.retries)])
    text.counter(
      "brewlog_cache_lookups", "Tips asked of the cache, by whether it had them.",
      [
        ([.init("result", "hit")], cache.cacheHits), ([.init("result", "miss")], cache.cacheMisses),
      ])
  }

  private func calls(
    _ measured: [APIMethod: DaemonMetrics.CallSeries], _ text: inout OpenMetricsText
  ) {
    let calls = measured.sorted { $0.key.rawValue < $1.key.rawValue }
    text.histogram(
      "brewlog_call_duration_seconds", unit: "seconds", "How long calls took until their reply.",
      calls.map { ([.init("method", $0.key.rawValue)], $0.value.durations) })
    text.counter(
      "brewlog_call_errors", "Calls that were answered by an error.",
      calls.flatMap { method, series in
        series.errors.sorted { $0.key < $1.key }.map {
          ([.init("method", method.rawValue), .init("error", $0.key)], $0.value)
        }
      })
  }

  private func upstream(_ measured: DaemonMetrics.State, _ text: inout OpenMetricsText) {
    text.histogram(
      "brewlog_upstream_request_duration_seconds", unit: "seconds",
      "How long requests to the upstream took, by what for and how they ended.",
      UpstreamPurpose.allCases.flatMap { purpose in
        UpstreamOutcome.allCases.compactMap { outcome in
          measured.upstream[.init(purpose: purpose, outcome: outcome)].map {
            ([.init("purpose", purpose.rawValue), .init("outcome", outcome.label)], $0)
          }
        }
      })
  }
}
