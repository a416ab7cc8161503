/// Every command there is, in the order in which help shows them.
package enum CommandTable {
  package static let groups: [(title: String, commands: [Command])] = [
    ("Tips", [TipCommand.command, TipsCommand.command, RateCommand.command]),
    (
      "The session",
      [
        StatusCommand.command, ExplainCommand.command, SessionCommand.command,
        LoginCommand.command, LogoutCommand.command, RefreshCommand.command,
        ResumeCommand.command, HistoryCommand.command, WatchCommand.command,
        VerifyErasureCommand.command,
      ]
    ),
    (
      "The daemon",
      [
        HealthCommand.command, MetricsCommand.command, ConfigCommand.command,
        ReloadCommand.command, CanICommand.command,
      ]
    ),
    ("This host", [DoctorCommand.command, SelfTestCommand.command, CompletionCommand.command]),
  ]

  package static var all: [Command] { groups.flatMap(\.commands) }
}
