import BrewlogAPI
import Execution
import Platform
import Synchronization
import Varlink

/// Answers by the present method handler, counts and times. A reload puts another in its place:
/// calls under way end by the one that they began with.
final class MeasuredHandler: CallHandler {
  private let present: Locked<MethodHandler>
  /// Counts the handlers that were put in place: what another one prepared is not used any more.
  private let serial = Atomic<Int>(0)
  private let metrics: DaemonMetrics

  init(_ handler: MethodHandler, metrics: DaemonMetrics) {
    present = Locked(handler)
    self.metrics = metrics
  }

  func use(_ handler: MethodHandler) {
    present.withLock { $0 = handler }
    serial.add(1, ordering: .releasing)
  }

  func prepare(_ call: Call) -> PreparedAnswer? {
    let serial = serial.load(ordering: .acquiring)
    guard let method = MethodTable.method(named: call.method),
      let answer = present.withLock({ $0 }).prepare(call)
    else { return nil }
    let meter = metrics.meter(of: method)
    return { [self] caller in
      guard self.serial.load(ordering: .acquiring) == serial else { return nil }
      let started = SystemClock.now
      guard case .now(let reply) = answer(caller) else { return nil }
      meter.count(from: started, to: SystemClock.now, error: Self.error(of: reply))
      return .now(reply)
    }
  }

  func answer(_ call: Call, from caller: Caller) -> Answer {
    let handler = present.withLock { $0 }
    guard let method = MethodTable.method(named: call.method) else {
      return handler.answer(call, from: caller)
    }
    let meter = metrics.meter(of: method)
    let started = SystemClock.now
    let count = { @Sendable (reply: Reply) in
      meter.count(from: started, to: SystemClock.now, error: Self.error(of: reply))
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
      meter.count(from: started, to: started, error: nil)
      return answer
    }
  }

  private static func error(of reply: Reply) -> String? {
    if case .failure(let error) = reply { error.name } else { nil }
  }
}
