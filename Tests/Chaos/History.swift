import DemoUpstream
import JSON
import Platform
import TestSupport

/// What `brewlogctl history` tells, against what was done.
struct History {
  let host: Host
  let ledger: Ledger

  private struct Event {
    let sequence: Int64
    let kind: String
    let generation: Int64
    let detail: String
    let actor: Int64?

    /// A kill came between it and its event, which the next start has made up for: who did it is not
    /// known any more.
    var isMadeUp: Bool { detail.hasSuffix("recorded at the start after a kill") }

    /// The account of a sign-in; the script names it after its refresh token.
    var account: String { String(detail.prefix { $0 != ";" }) }

    var isMove: Bool { ["signedIn", "imported", "signedOut"].contains(kind) }
  }

  /// `session` is the state at the end.
  func check(against session: JSONValue) throws {
    let events = try read()
    for (older, newer) in zip(events, events.dropFirst()) where older.sequence >= newer.sequence {
      ledger.violate("the history is out of order at event \(newer.sequence)")
    }
    let moves = events.filter(\.isMove)
    for (older, newer) in zip(moves, moves.dropFirst()) where older.generation >= newer.generation {
      ledger.violate(
        "the history has \(newer.kind) \(newer.generation) after \(older.kind) \(older.generation)")
    }
    // A thousand are kept.
    let isWhole = events.count < 1_000
    checkAcknowledged(moves, since: isWhole ? 0 : moves.first?.generation ?? .max)
    checkEnds(moves)
    checkRefreshes(events)
    let (generation, state) = (session["generation"]?.integer ?? 0, session["state"]?.string)
    guard let last = moves.last else { return }
    if last.generation > generation || (last.kind == "signedOut") != (state == "signedOut") {
      ledger.violate(
        "the history ends with \(last.kind) \(last.generation), and the state is "
          + "\(state ?? "unknown") \(generation)")
    }
  }

  private func read() throws -> [Event] {
    let program = try Programs.path("brewlogctl")
    let arguments = ["--socket", host.socket]
    let child = try ChildProcess.start(
      program, arguments + ["--json", "history", "--limit", "1000"],
      environment: Programs.environment)
    let plain = try ChildProcess.start(
      program, arguments + ["history", "--limit", "1000"], environment: Programs.environment)
    guard child.wait() == .exited(0), plain.wait() == .exited(0) else {
      throw DaemonFailure(description: "brewlogctl history: \(child.standardError)")
    }
    let texts = [child.standardOutput, plain.standardOutput]
    for text in texts where ReplyText(text.utf8).showsToken {
      ledger.violate("the history shows a token")
    }
    let reply = try JSONText.decode(JSONValue.self, from: child.standardOutput.utf8)
    let events = (reply["events"]?.array ?? []).map { event in
      Event(
        sequence: event["sequence"]?.integer ?? 0, kind: event["kind"]?.string ?? "",
        generation: event["generation"]?.integer ?? 0, detail: event["detail"]?.string ?? "",
        actor: event["actorUid"]?.integer)
    }
    return events.reversed()
  }

  /// Every answered sign-in and logout is in it, and in the order in which they were answered.
  private func checkAcknowledged(_ moves: [Event], since oldest: Int64) {
    for move in ledger.moves where move.generation > oldest {
      let found = moves.contains {
        $0.kind == move.kind && $0.generation == move.generation && $0.actor != nil
          && (move.account == nil || $0.detail == move.account)
      }
      if !found, !move.onFullDisk {
        ledger.violate(
          "an answered move is not in the history: \(move.kind), generation \(move.generation)")
      }
    }
    for first in ledger.moves {
      for second in ledger.moves
      where first.answered < second.sent && first.generation >= second.generation {
        ledger.violate("generation \(second.generation) came after \(first.generation)")
      }
    }
  }

  /// A session that nobody has logged out was ended by the upstream.
  private func checkEnds(_ moves: [Event]) {
    let byHand = moves.count { $0.kind == "signedOut" && $0.actor != nil }
    if byHand > ledger.counts.logoutsSent {
      ledger.violate("the history has \(byHand) logouts, and fewer were asked for")
    }
    for (session, end) in zip(moves, moves.dropFirst())
    where end.kind == "signedOut" && end.actor == nil {
      // Killed before it was told, or between the end of the key and that of the rows.
      if end.isMadeUp, end.detail.hasPrefix("logged out") || end.detail.contains("key is gone") {
        continue
      }
      let origin = "refresh-" + session.account.dropFirst()
      let refusals = host.upstream.exchanges.filter {
        $0.origin == origin && $0.outcome != .granted
      }
      guard let refusal = refusals.first else {
        ledger.violate(
          "\(session.account) was ended, and the upstream had not refused it: \(end.detail)")
        continue
      }
      if refusal.outcome == .revoked,
        !ledger.wasRevoked(origin: session.account, before: refusal.entry)
      {
        ledger.violate("\(session.account) was revoked while it lived")
      }
      if refusal.outcome == .spent, !end.detail.contains("not known") {
        ledger.violate(
          "\(session.account) has ended for a lost answer, and the reason is: \(end.detail)")
      }
    }
  }

  /// No refresh has succeeded that the upstream does not know of.
  private func checkRefreshes(_ events: [Event]) {
    let granted = Dictionary(
      grouping: host.upstream.exchanges.filter { $0.outcome == .granted }, by: { $0.origin ?? "" })
    for session in events where session.kind == "imported" {
      let told = events.count {
        $0.kind == "refreshSucceeded" && $0.generation == session.generation
      }
      let origin = "refresh-" + session.account.dropFirst()
      let known = granted[origin]?.count ?? 0
      if told > known {
        ledger.violate("\(session.account): \(told) refreshes are told, and \(known) took place")
      }
    }
  }
}
