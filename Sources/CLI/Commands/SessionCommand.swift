import BrewlogAPI

/// `session`: what a restart would restore beside what the daemon holds.
enum SessionCommand {
  static let command = Command(
    "session", "show what is persisted beside what is in memory",
    options: [
      OptionSpec("--store", "DIR", "read the store of a daemon that does not run, or a copy")
    ],
    details:
      "Tokens are shown as fingerprints only. Lines that differ are marked; in the moments of "
      + "a refresh some may. With --store, shows what is not sealed there, without a daemon or key; "
      + "nothing is changed.",
    examples: [
      ("session", "both, side by side"),
      ("session --store /var/lib/brewlog", "offline, as root"),
      ("--json session | jq .consistent", "whether they agree"),
    ],
    run: run)

  static func run(_ context: CommandContext) throws(CommandFailure) -> ExitCode {
    if let directory = context.arguments.value("--store") {
      return try OfflineSession.show(directory, context)
    }
    let reply = try context.ask(.inspect, as: InspectReply.self)
    if context.json { return .done }
    let output = context.output
    let inMemory = rows(reply.inMemory, context.words)
    let rows = zip(rows(reply.persisted, context.words), inMemory).map { disk, memory in
      ComparisonTable.Row(
        label: disk.label, left: disk.value, right: memory.value,
        compared: !ofThisRun.contains(disk.label)
          // A store that never held a session has no reason why it holds none.
          && !(disk.label == "reason" && reply.persisted.reason == nil))
    }
    ComparisonTable(rows: rows).show("on disk", "in memory", context)
    output.line()
    let verdict =
      reply.consistent
      ? StyledText("Disk and memory agree.", .good)
      : StyledText("Disk and memory differ; a restart would restore what is on disk.", .bad)
    output.paragraph(verdict)
    output.line()
    let fields = FieldList(context: context, label: 11)
    let store = reply.store
    fields.row("Store", StyledText(store.path))
    fields.row(
      "",
      StyledText(
        "\(Words.bytes(store.sizeBytes)), log \(Words.bytes(store.walSizeBytes)), schema "
          + "\(store.schemaVersion), \(Words.count(store.cachedTips, "cached tip"))"))
    fields.row("Sealed", StyledText(store.encryption))
    fields.row(
      "Integrity", StyledText(store.integrity, store.integrity == "ok" ? .good : .warning))
    return .done
  }

  /// What a disk does not keep.
  private static let ofThisRun: Set<String> = ["next refresh", "last error", "activity", "durable"]

  private static func rows(
    _ snapshot: Snapshot, _ words: Words
  ) -> [(label: String, value: String)] {
    let none = "-"
    func moment(_ text: String?) -> String { text.map(words.moment) ?? none }
    return [
      ("state", snapshot.state.name),
      ("generation", String(snapshot.generation)),
      ("reason", snapshot.reason ?? none),
      ("account", snapshot.account ?? none),
      ("verified", snapshot.account == nil ? none : snapshot.accountVerified ? "yes" : "no"),
      ("upstream", snapshot.upstream ?? none),
      ("scope", snapshot.scope ?? none),
      ("signed in", moment(snapshot.signedInAt)),
      ("access token", snapshot.accessTokenFingerprint ?? none),
      ("access until", moment(snapshot.accessTokenExpiresAt)),
      ("refresh token", snapshot.refreshTokenFingerprint ?? none),
      ("refresh until", moment(snapshot.refreshTokenExpiresAt)),
      ("rotations", String(snapshot.rotations)),
      ("last refresh", moment(snapshot.lastRefreshAt)),
      ("next refresh", moment(snapshot.nextRefreshAt)),
      ("last error", snapshot.lastRefreshError ?? none),
      ("activity", snapshot.activity.name),
      ("durable", snapshot.durable ? "yes" : "no"),
    ]
  }
}
