import JSON

/// `doctor`: everything that can be wrong on this host, with what to do about each.
enum DoctorCommand {
  static let command = Command(
    "doctor", "look at everything that can be wrong on this host",
    options: [
      OptionSpec("--config", "FILE", "the configuration that the daemon was started with")
    ],
    details:
      "Looks at configuration, unit, socket, rights, the daemon's own checks, store and key, name "
      + "look-up, TLS, the upstream and the clock, changes nothing, and says what to do about each "
      + "thing that is wrong. As root it sees more. Exit status 1 where something is wrong.",
    examples: [
      ("doctor", "the system's daemon"),
      ("doctor --config ./brewlogd.conf", "one that was started by hand"),
      ("--json doctor | jq '.findings[] | select(.verdict == \"wrong\")'", "for a script"),
    ],
    run: run)

  static func run(_ context: CommandContext) throws(CommandFailure) -> ExitCode {
    var examination = Examination(context: context)
    examination.run()
    let findings = examination.findings
    let wrong = findings.count { $0.verdict == .wrong }
    if context.json {
      context.output.json([
        "healthy": .bool(wrong == 0), "findings": .array(findings.map(\.json)),
      ])
    } else {
      show(findings, wrong, context)
    }
    return wrong == 0 ? .done : .failed
  }

  private static let column = 23

  private static func show(_ findings: [Finding], _ wrong: Int, _ context: CommandContext) {
    let output = context.output
    let fields = FieldList(context: context, label: column)
    for finding in findings {
      let (mark, tone): (String, Tone) =
        switch finding.verdict {
        case .ok: ("ok", .good)
        case .wrong: ("WRONG", .bad)
        case .skipped: ("-", .faint)
        }
      let head = StyledText(TextLayout.pad(mark, to: 7), tone) + StyledText(finding.check)
      fields.row(head, StyledText(finding.detail, finding.verdict == .skipped ? .faint : .plain))
      if let remedy = finding.remedy { fields.row("", StyledText("To do: " + remedy, .accent)) }
    }
    output.line()
    let looked = findings.count { $0.verdict != .skipped }
    output.paragraph(
      wrong == 0
        ? StyledText("Nothing is wrong with the \(looked) things looked at.", .good)
        : StyledText("\(Words.count(wrong, "thing")) of \(looked) to be put right.", .bad))
  }
}
