import BrewlogAPI
import JSON
import Varlink

extension Examination {
  /// Asks the daemon itself, where it can be reached: who it is, what one may, how it is.
  mutating func checkDaemon() {
    if isUnknown {
      add(.skipped("daemon", "where its socket is stands in the configuration"))
      return
    }
    let daemon = context.connect(context.place.at(socketPath))
    let uid: UInt32
    do throws(ClientError) {
      uid = try daemon.serverUID()
    } catch {
      let told = context.explain(error, calling: .status)
      if findings.contains(where: { $0.check == "socket" && $0.verdict == .wrong }) {
        // One fault, one remedy: it stands beside the socket.
        add(.skipped("daemon", told.problem))
      } else {
        add(.wrong("daemon", told.problem, remedy: told.exit == .unreachable ? start : told.remedy))
      }
      return
    }
    let asked = context.asking(daemon)
    checkRights(asked)
    let explained = try? asked.quietly(.explain, as: ExplainReply.self)
    do throws(CommandFailure) {
      let health = try asked.quietly(.health, as: HealthReply.self)
      isServed = health.ready
      let who = "runs as uid \(uid) for \(Words.span(health.uptimeSeconds))"
      if health.ready { add(.ok("daemon", who)) }
      for check in health.checks where !check.ok {
        // What the explanation says of the session comes below, with the next step.
        if check.name == "session", explained?.nextStep != nil { continue }
        add(.wrong("daemon", "\(check.name): \(check.detail)", remedy: "See: brewlogctl explain"))
      }
      if !health.ready, health.checks.allSatisfy(\.ok) {
        add(.wrong("daemon", "it is not ready", remedy: "See: brewlogctl health"))
      }
    } catch {
      add(.wrong("daemon", error.problem, remedy: error.remedy))
      return
    }
    if let explained {
      add(
        Finding(
          check: "session", verdict: explained.nextStep == nil ? .ok : .wrong,
          detail: explained.sentence, remedy: explained.nextStep))
    }
  }

  private mutating func checkRights(_ asked: CommandContext) {
    func ask(_ method: APIMethod) -> CanIReply? {
      try? asked.quietly(.canI, ["method": .string(method.rawValue)], as: CanIReply.self)
    }
    guard let read = ask(.status), let control = ask(.logout) else { return }
    if !read.allowed {
      add(
        .wrong("rights", "you may not read: \(read.rule)", remedy: read.remedy))
    } else if !control.allowed {
      add(.ok("rights", "you may read, but not sign in or out: \(control.rule)"))
    } else {
      add(.ok("rights", "you may read and control: \(control.rule)"))
    }
  }
}

extension CommandContext {
  /// The same command, asking over this connection.
  func asking(_ daemon: any DaemonPort) -> CommandContext {
    CommandContext(
      arguments: arguments, environment: environment, place: place, output: output,
      connect: { _ in daemon })
  }
}
