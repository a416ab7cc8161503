import BrewlogAPI
import Glibc
import JSON

/// One sign-in with a person: shows what to do, counts the time down, takes a pasted address, and
/// cancels the attempt when the person gives up.
final class LoginConversation {
  private let context: CommandContext
  private let signals: CaughtSignals?
  private var attempt: LoginAttempt?
  private var session: Snapshot?
  private var isCancelled = false
  /// Nil: nobody can paste anything, or the end of it has come.
  private var input: Int32?
  private var typed: [UInt8] = []
  /// For the bar: how long it was when it began.
  private var wholeSeconds = 0

  init(_ context: CommandContext) {
    self.context = context
    signals = context.environment.catchSignals(CaughtSignals.endings)
    let canPaste = context.environment.standardInputIsTerminal && context.appearance.terminal
    input = canPaste ? context.environment.inputDescriptor : nil
  }

  /// The session, once a person has confirmed it.
  func run(_ flow: LoginFlow?) throws(CommandFailure) -> Snapshot {
    let parameters: [String: JSONValue] = flow.map { ["flow": .string($0.name)] } ?? [:]
    do throws(CommandContext.StreamFailure) {
      try context.follow(
        .login, parameters, as: LoginReply.self, alongside: descriptors, tick: .seconds(1), step)
    } catch {
      context.output.transient(nil)
      throw error.told
    }
    context.output.transient(nil)
    if isCancelled { throw cancel() }
    guard let session else {
      throw CommandFailure(
        .failed, "the sign-in ended without a session", remedy: "See why: brewlogctl explain")
    }
    return session
  }

  private func descriptors() -> [Int32] {
    // A pasted address is of use in the browser's flow alone.
    let pasting = attempt?.authorizeUri == nil ? nil : input
    return [signals?.rawValue, pasting].compactMap { $0 }
  }

  private func step(_ happening: CommandContext.Happening<LoginReply>) -> Bool {
    switch happening {
    case .reply(let reply):
      if let attempt = reply.attempt, attempt.id != self.attempt?.id {
        self.attempt = attempt
        wholeSeconds = context.words.secondsUntil(attempt.expiresAt) ?? 0
        if !context.json { LoginInstructions(attempt: attempt, context: context).show() }
      }
      session = reply.session ?? session
      if reply.session == nil { showTimeLeft() }
      return true
    case .tick:
      showTimeLeft()
      return true
    case .ready(let descriptor) where descriptor == input:
      take(context.environment.readTyped())
      return true
    case .ready:
      isCancelled = signals?.next() != nil
      return !isCancelled
    }
  }

  // MARK: Progress

  private func showTimeLeft() {
    guard !context.json, let attempt else { return }
    let left = max(0, context.words.secondsUntil(attempt.expiresAt) ?? 0)
    let clock = "\(left / 60):" + (left % 60 < 10 ? "0" : "") + String(left % 60)
    let what = attempt.device == nil ? "Waiting for the browser" : "Waiting for the code"
    var line = StyledText(what + "  ", .strong)
    if context.appearance.width >= 60 {
      line = line + StyledText(bar(left), left < 60 ? .warning : .accent) + "  "
    }
    context.output.transient(
      line + StyledText("\(clock) left") + StyledText(", Ctrl-C cancels", .faint))
  }

  private func bar(_ left: Int) -> String {
    let width = 16
    let filled = min(width, max(0, wholeSeconds == 0 ? 0 : (left * width + 1) / wholeSeconds))
    let (full, empty) = context.appearance.unicode ? ("━", "╌") : ("#", ".")
    return String(repeating: full, count: filled)
      + String(repeating: empty, count: width - filled)
  }

  // MARK: A pasted address

  private func take(_ bytes: [UInt8]) {
    if bytes.isEmpty {
      input = nil
      return
    }
    typed += bytes
    // No address is that long; and what a person holds down a key for is none.
    if typed.count > 64 * 1024 { typed = [] }
    while let end = typed.firstIndex(of: UInt8(ascii: "\n")) {
      let line = String(decoding: typed[..<end], as: UTF8.self)
      typed.removeFirst(end + 1)
      let address = line.split(whereSeparator: \.isWhitespace).joined()
      if !address.isEmpty { complete(address) }
    }
  }

  /// The address holds a code that is as good as a token: it is not shown again (I10).
  private func complete(_ address: String) {
    guard let attempt else { return }
    let output = context.output
    guard address.hasPrefix("http://") || address.hasPrefix("https://") else {
      output.note("That is no address; it begins with http:// and is in the browser's top line.")
      return
    }
    do throws(CommandFailure) {
      let other = context.reconnected()
      try ServerCheck.require(other, what: "the address")
      let reply = try other.ask(
        .completeLogin, ["id": .string(attempt.id), "redirectedTo": .string(address)],
        timeout: CommandContext.upstream, as: SessionReply.self)
      session = reply.session
    } catch {
      output.failure(error)
    }
  }

  // MARK: Giving up

  /// Only one's own attempt: another person may be in the middle of it.
  private func cancel() -> CommandFailure {
    let other = context.reconnected()
    var attempt = attempt
    if attempt == nil {
      // Ctrl-C before the first reply: the daemon may have begun one all the same.
      attempt = (try? other.quietly(.status, as: StatusReply.self))?.login
    }
    guard let attempt else {
      return CommandFailure(.failed, "given up; no sign-in is under way")
    }
    guard attempt.startedByUid == Int(context.environment.uid) else {
      return CommandFailure(
        .failed,
        "given up; the sign-in of uid \(attempt.startedByUid) goes on without this program",
        remedy: "Look at it: brewlogctl status")
    }
    do throws(CommandFailure) {
      _ = try other.quietly(.cancelLogin, ["id": .string(attempt.id)], as: EmptyReply.self)
      return CommandFailure(.failed, "the sign-in is cancelled; the code is of no use any more")
    } catch {
      return CommandFailure(
        .failed, "given up, but the sign-in could not be cancelled: \(error.problem)",
        remedy: "It ends by itself \(context.words.relative(attempt.expiresAt)).")
    }
  }
}
