import BrewlogAPI
import Execution
import Platform
import Varlink

/// Answers by the present method handler, counts and times. A reload puts another in its place:
/// calls under way end by the one that they began with.
final class MeasuredHandler: CallHandler {
  private let present: Locked<MethodHandler>
  private let metrics: DaemonMetrics

  init(_ handler: MethodHandler, metrics: DaemonMetrics) {
    present = Locked(handler)
    self.metrics = metrics
  }

  func use(_ handler: MethodHandler) {
    present.withLock { $0 = handler }
  }

  func answer(_ call: Call, from caller: Caller) -> Answer {
    let handler = present.withLock { $0 }
    guard let method = MethodTable.method(named: call.method) else {
      return handler.answer(call, from: caller)
    }
    let metrics = metrics
    let started = SystemClock.now
    let count = { @Sendable (reply: Reply) in
      metrics.countCall(
        method, took: started.duration(to: SystemClock.now), error: Self.error(of: reply))
    }
    let answer = handler.answer(call, from: caller)
    switch answer {
    case .now(let reply):
      count(reply)
      return answer
    case .later(let work):
      return .later {
        let reply = await work()
        count(reply)
        return reply
      }
    case .stream:
      // How long somebody watches is no latency.
      metrics.countCall(method, took: .zero, error: nil)
      return answer
    }
  }

  private static func error(of reply: Reply) -> String? {
    if case .failure(let error) = reply { error.name } else { nil }
  }
}
