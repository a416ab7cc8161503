import BrewlogAPI
import Execution
import JSON
import Session
import Store

/// `session --store DIR`: what stands in a store that is not sealed. No key is needed, no token is
/// seen, nothing is changed.
enum OfflineSession {
  static func show(
    _ directory: String, _ context: CommandContext
  ) throws(CommandFailure) -> ExitCode {
    let store: OfflineStore
    do throws(StoreOpenError) {
      store = try OfflineStore.read(directory)
    } catch {
      throw CommandFailure(
        .failed, "the store cannot be read: \(error.message)",
        remedy: context.environment.uid == 0
          ? "Name the state directory, or a copy of it." : "It may take root: try it with sudo.")
    }
    if context.json {
      context.output.json(json(store))
    } else {
      show(store, directory, context)
    }
    return .done
  }

  private static func show(
    _ store: OfflineStore, _ directory: String, _ context: CommandContext
  ) {
    let fields = FieldList(context: context, label: 14)
    let words = context.words
    func moment(_ time: WallTime) -> String { words.relative(Timestamps.text(time)) }
    fields.row("Session", state(store))
    fields.row("Generation", StyledText("\(store.generation.number)"))
    if let facts = store.facts {
      let account = facts.account.map {
        $0 + (facts.accountVerified ? "" : " (as the import said)")
      }
      fields.row("Account", StyledText(account ?? "not known"))
      fields.row("Upstream", StyledText(facts.binding.apiOrigin))
      fields.row("Signed in", StyledText(moment(facts.signedInAt)))
      if let scope = facts.scope { fields.row("Scope", StyledText(scope)) }
      fields.row(
        "Access token",
        StyledText(
          "sealed; "
            + (facts.accessTokenExpiresAt.map { "ends \(moment($0))" } ?? "no known end")))
      if let end = facts.refreshTokenExpiresAt {
        fields.row("Refresh token", StyledText("sealed; ends \(moment(end))"))
      }
      fields.row(
        "Rotations",
        StyledText(
          "\(facts.rotations)" + (facts.lastRefreshAt.map { ", the last \(moment($0))" } ?? "")))
    }
    for line in unfinished(store) { fields.row("", StyledText(line, .warning)) }
    context.output.line()
    fields.row("Store", StyledText(directory))
    let size = store.files.reduce(0) { $0 + $1.sizeBytes }
    fields.row(
      "",
      StyledText(
        "\(Words.count(store.files.count, "file")), \(Words.bytes(size)), schema "
          + "\(store.schemaVersion), \(Words.count(store.cachedTips, "cached tip")), "
          + Words.count(store.events.count, "event")))
    fields.row(
      "Integrity", StyledText(store.integrity, store.integrity == "ok" ? .good : .bad))
    if store.pendingRevocations > 0 {
      fields.row(
        "Revocation",
        StyledText(Words.count(store.pendingRevocations, "old session") + " still to be revoked"))
    }
  }

  private static func state(_ store: OfflineStore) -> StyledText {
    if store.facts == nil {
      return StyledText("signed out" + (store.signedOutReason.map { ": \($0)" } ?? ""), .warning)
    }
    return store.hasSessionKey
      ? StyledText("signed in", .good)
      : StyledText("signed out: its key is destroyed, the row is what a logout left", .warning)
  }

  /// What the daemon would finish at its next start.
  private static func unfinished(_ store: OfflineStore) -> [String] {
    var lines: [String] = []
    if store.intent != nil { lines.append("A refresh was under way; its answer was not stored.") }
    if let backoff = store.backoff { lines.append("The last refresh failed: \(backoff.reason)") }
    if store.hasRescuedPair { lines.append("A newer pair is in the rescue slot.") }
    return lines
  }

  private static func json(_ store: OfflineStore) -> JSONValue {
    var members: [String: JSONValue] = [
      "generation": .integer(Int64(clamping: store.generation.number)),
      "state": store.facts != nil && store.hasSessionKey ? "signedIn" : "signedOut",
      "schemaVersion": .integer(Int64(store.schemaVersion)),
      "integrity": .string(store.integrity),
      "cachedTips": .integer(Int64(store.cachedTips)),
      "pendingRevocations": .integer(Int64(store.pendingRevocations)),
      "refreshUnderWay": .bool(store.intent != nil),
      "rescuedPair": .bool(store.hasRescuedPair),
      "files": .array(
        store.files.map {
          ["name": .string($0.name), "sizeBytes": .integer(Int64($0.sizeBytes))]
        }),
    ]
    if let reason = store.signedOutReason { members["reason"] = .string(reason) }
    if let backoff = store.backoff { members["lastRefreshError"] = .string(backoff.reason) }
    if let facts = store.facts {
      members["upstream"] = .string(facts.binding.apiOrigin)
      members["accountVerified"] = .bool(facts.accountVerified)
      members["signedInAt"] = .string(Timestamps.text(facts.signedInAt))
      members["rotations"] = .integer(Int64(facts.rotations))
      if let account = facts.account { members["account"] = .string(account) }
      if let scope = facts.scope { members["scope"] = .string(scope) }
      let times = [
        ("accessTokenExpiresAt", facts.accessTokenExpiresAt),
        ("refreshTokenExpiresAt", facts.refreshTokenExpiresAt),
        ("lastRefreshAt", facts.lastRefreshAt),
      ]
      for (name, time) in times {
        if let time { members[name] = .string(Timestamps.text(time)) }
      }
    }
    return .object(members)
  }
}
