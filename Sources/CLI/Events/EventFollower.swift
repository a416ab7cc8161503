import BrewlogAPI
import Glibc
import JSON
import Varlink

/// Follows the events over restarts of the daemon: when the connection ends, it comes back and goes
/// on after the last event that was seen. Ends with a signal.
final class EventFollower {
  enum Happening {
    case event(Event)
    /// The daemon cannot be reached; why.
    case away(String)
    case back
    case ready(Int32)
    case tick
  }

  private var context: CommandContext
  private let signals: CaughtSignals?
  private let others: [Int32]
  private let tick: Duration?
  /// The last event's number.
  private var last: Int?
  private var isOver = false
  private var isAway = false
  /// Whether the connection has ever been there: before that, what fails is an error.
  private var hasBegun = false

  /// Between two attempts to reach the daemon.
  private static let patience = Duration.seconds(1)

  init(
    _ context: CommandContext, after: Int?, alongside others: [Int32] = [], tick: Duration? = nil,
    signals: [Int32] = CaughtSignals.endings
  ) {
    self.context = context
    self.others = others
    self.tick = tick
    last = after
    self.signals = context.environment.catchSignals(signals)
  }

  /// Until `each` returns false, or a signal that ends programs comes.
  func run(_ each: (Happening) -> Bool) throws(CommandFailure) {
    while !isOver {
      do throws(CommandContext.StreamFailure) {
        try followOnce(each)
        return
      } catch {
        guard hasBegun, isPassing(error.cause) else { throw error.told }
        // A daemon that stops says TooSlow, too: whether it is away shows at the next attempt.
        if !isAnswer(error.cause) {
          if !isAway { isOver = isOver || !each(.away(error.told.problem)) }
          isAway = true
        }
      }
      if !isOver { wait(each) }
      // A connection that has ended stays ended.
      context = context.reconnected()
    }
  }

  private func followOnce(
    _ each: (Happening) -> Bool
  ) throws(CommandContext.StreamFailure) {
    let parameters: [String: JSONValue] =
      last.map { ["afterSequence": .integer(Int64($0))] } ?? [:]
    try context.follow(
      .watch, parameters, as: WatchReply.self, alongside: { descriptors },
      tick: tick ?? (isAway ? Self.patience : nil)
    ) { happening in
      // A watcher that is up to date is sent nothing: a second without an error will do.
      if isAway {
        isAway = false
        isOver = !each(.back)
      }
      hasBegun = true
      switch happening {
      case .reply(let reply):
        last = max(last ?? 0, reply.event.sequence)
        isOver = isOver || !each(.event(reply.event))
      case .tick: isOver = isOver || !each(.tick)
      case .ready(let descriptor): attend(descriptor, each)
      }
      return !isOver
    }
    isOver = true
  }

  private var descriptors: [Int32] { (signals.map { [$0.rawValue] } ?? []) + others }

  private func attend(_ descriptor: Int32, _ each: (Happening) -> Bool) {
    if descriptor != signals?.rawValue {
      isOver = isOver || !each(.ready(descriptor))
    } else if let signal = signals?.next() {
      isOver = isOver || CaughtSignals.endings.contains(signal) || !each(.tick)
    }
  }

  private func wait(_ each: (Happening) -> Bool) {
    if let descriptor = context.environment.pause(Self.patience, descriptors) {
      attend(descriptor, each)
    } else {
      isOver = isOver || !each(.tick)
    }
  }

  private func isAnswer(_ error: ClientError?) -> Bool {
    if case .failure? = error { true } else { false }
  }

  /// What a restart looks like from here. A daemon that stops says TooSlow to its watchers.
  private func isPassing(_ error: ClientError?) -> Bool {
    switch error {
    case .connectionClosed, .timedOut: true
    case .unreachable(_, let code): [ENOENT, ECONNREFUSED, ECONNRESET, EAGAIN].contains(code)
    case .failure(let error):
      if case .tooSlow = APIError(error) { true } else { false }
    case .protocolViolation, nil: false
    }
  }
}
