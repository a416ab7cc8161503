import BrewlogAPI
import JSON

/// `status`: one screen that says how things are and what to do about it.
enum StatusCommand {
  static let command = Command(
    "status", "show session, tip and health on one screen, in words",
    details:
      "Never waits for the upstream. Its exit status is 0 when the daemon answered, whatever the "
      + "answer; `health` has one for scripts.",
    examples: [
      ("status", "how things are"),
      ("--json status | jq -r .session.state", "signedIn, signedOut or suspended"),
    ],
    run: run)

  static func run(_ context: CommandContext) throws(CommandFailure) -> ExitCode {
    let status = try context.ask(.status, as: StatusReply.self)
    if context.json { return .done }
    let fields = FieldList(context: context, label: 11)
    SessionSummary(snapshot: status.session, context: context, fields: fields).show()
    if let login = status.login { showLogin(login, fields, context) }
    if status.session.state == .signedIn { showTip(fields, context) }
    if status.pendingRevocations > 0 {
      fields.row(
        "Revocation",
        StyledText(Words.count(status.pendingRevocations, "old session") + " still to be revoked"))
    }
    showHealth(fields, context)
    showNextStep(status.session, fields, context)
    return .done
  }

  private static func showLogin(
    _ login: LoginAttempt, _ fields: FieldList, _ context: CommandContext
  ) {
    var text = "under way, until \(context.words.moment(login.expiresAt))"
    if let prompt = login.device {
      text += ": open \(prompt.verificationUri) and enter \(prompt.userCode)"
    } else if let address = login.authorizeUri {
      text += ": open \(address)"
    }
    fields.row("Sign-in", StyledText(text, .accent))
  }

  // The rest of the screen is worth showing even where one of these calls fails.

  private static func showTip(_ fields: FieldList, _ context: CommandContext) {
    do throws(CommandFailure) {
      let entry = try context.ask(
        .today, ["cacheOnly": true, "waitSeconds": 0], as: Entry.self)
      let appearance = context.appearance
      let title = TextLayout.clip(
        appearance.line(entry.tip.title), to: appearance.width * 2, mark: appearance.ellipsis)
      fields.row("Tip", StyledText(title, .strong))
      fields.row(
        "",
        StyledText(
          Words.freshness(entry.provenance), entry.provenance.stale ? .warning : .faint))
    } catch {
      fields.row("Tip", error.exit == .unavailable ? "none cached" : StyledText(error.problem))
    }
  }

  private static func showHealth(_ fields: FieldList, _ context: CommandContext) {
    do throws(CommandFailure) {
      let health = try context.ask(.health, as: HealthReply.self)
      let bad = health.checks.filter { !$0.ok }
      let running = "running for \(Words.span(health.uptimeSeconds))"
      if bad.isEmpty {
        let all =
          health.checks.isEmpty ? "well" : "all \(Words.count(health.checks.count, "check")) pass"
        fields.row(
          "Health", StyledText(health.ready ? all : "not ready", .good) + StyledText("; \(running)")
        )
      } else {
        let need = bad.count == 1 ? "needs" : "need"
        let summary = "\(bad.count) of \(Words.count(health.checks.count, "check")) \(need) a look"
        fields.row(
          "Health",
          StyledText(summary, health.ready ? .warning : .bad) + StyledText("; \(running)"))
        for check in bad { fields.row("", StyledText("\(check.name): \(check.detail)")) }
      }
    } catch {
      fields.row("Health", StyledText(error.problem))
    }
  }

  private static func showNextStep(
    _ session: Snapshot, _ fields: FieldList, _ context: CommandContext
  ) {
    if let explained = try? context.ask(.explain, as: ExplainReply.self) {
      fields.row("In short", StyledText(explained.sentence))
      fields.row("To do", StyledText(explained.nextStep ?? "nothing"))
      return
    }
    switch session.state {
    case .signedOut: fields.row("To do", "sign in: brewlogctl login")
    case .suspended: fields.row("To do", "if the reason is as it should be: brewlogctl resume")
    default: fields.row("To do", session.durable ? "nothing" : "see: brewlogctl health")
    }
  }
}
