import Execution
import JSON
import Testing

@testable import Daemon
@testable import Session

/// One sentence and one next step for every state the session can be in.
@Suite(.timeLimit(.minutes(1)))
struct ExplanationTests {
  private static let now = WallTime(milliseconds: 1_800_000_000_000)

  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    let session: SessionSnapshot
    var undestroyed: String?
    let says: String
    /// A word of the next step; nil: there is nothing to do.
    let step: String?

    var testDescription: String { name }
  }

  private static func snapshot(
    _ phase: SessionMachine.Phase, activity: SessionSnapshot.Activity = .idle,
    durable: Bool = true, account: String? = nil, expires: WallTime? = nil, error: String? = nil
  ) -> SessionSnapshot {
    let isSignedOut = if case .signedOut = phase { true } else { false }
    let binding = UpstreamBinding(issuer: "i", clientID: "c", apiOrigin: "https://api.example")
    let facts = SessionID(bytes: Array(0..<16)).map {
      SessionFacts(
        id: $0, generation: Generation(3), binding: binding, account: account,
        accountVerified: true, signedInAt: now, scope: nil, accessTokenReceivedAt: now,
        accessTokenExpiresAt: expires)
    }
    return SessionSnapshot(
      phase: phase, activity: activity, generation: Generation(3), durable: durable,
      facts: isSignedOut ? nil : facts, lastRefreshError: error)
  }

  /// Every reason for which a session can be away is somebody's text; these stand for all.
  static let cases = [
    Case(
      name: "never signed in", session: snapshot(.signedOut(reason: "never signed in")),
      says: "Nobody is signed in: never signed in.", step: "brewlogctl login"),
    Case(
      name: "logged out", session: snapshot(.signedOut(reason: "logged out by uid 1001")),
      says: "logged out by uid 1001", step: "brewlogctl login"),
    Case(
      name: "ended by the upstream",
      session: snapshot(.signedOut(reason: "the token endpoint answered 400, invalid_grant")),
      says: "invalid_grant", step: "brewlogctl login"),
    Case(
      name: "suspended", session: snapshot(.suspended(reason: "the store was copied")),
      says: "suspended and nothing is sent", step: "brewlogctl resume"),
    Case(
      name: "suspended while a logout is not durable",
      session: snapshot(.suspended(reason: "the store was copied")),
      undestroyed: "the file system is read-only", says: "could not be destroyed",
      step: "verify-erasure"),
    Case(
      name: "a logout that is not durable", session: snapshot(.signedOut(reason: "logged out")),
      undestroyed: "the file system is read-only", says: "the file system is read-only",
      step: "writable"),
    Case(
      name: "newer than the disk", session: snapshot(.signedIn, durable: false),
      says: "in memory only", step: "do not stop the daemon"),
    Case(
      name: "newer than the disk while refreshing",
      session: snapshot(.signedIn, activity: .refreshing, durable: false), says: "in memory only",
      step: "Free space"),
    Case(
      name: "refreshing", session: snapshot(.signedIn, activity: .refreshing, account: "a@b.c"),
      says: "Signed in as a@b.c; the access token is being refreshed", step: nil),
    Case(
      name: "the last refresh failed", session: snapshot(.signedIn, error: "no route"),
      says: "no route; the next request tries again", step: "brewlogctl refresh"),
    Case(
      name: "backing off", session: snapshot(.signedIn, activity: .backingOff, error: "no route"),
      says: "no route; the next try waits", step: "[Auth]"),
    Case(
      name: "backing off without a reason", session: snapshot(.signedIn, activity: .backingOff),
      says: "waits", step: "brewlogctl refresh"),
    Case(
      name: "a token without a lifetime", session: snapshot(.signedIn),
      says: "used until the upstream rejects it", step: nil),
    Case(
      name: "a token that has ended",
      session: snapshot(.signedIn, expires: now.advanced(by: .seconds(-1))),
      says: "the next request refreshes it", step: nil),
    Case(
      name: "a token that ends now", session: snapshot(.signedIn, expires: now),
      says: "the next request refreshes it", step: nil),
    Case(
      name: "all is well", session: snapshot(.signedIn, expires: now.advanced(by: .seconds(60))),
      says: "nothing is wrong with the session", step: nil),
  ]

  @Test(arguments: cases)
  func `every state has one sentence and says what to do`(example: Case) {
    let explanation = Explanation(
      example.session, undestroyed: example.undestroyed, now: Self.now)
    #expect(explanation.sentence.contains(example.says), "\(explanation.sentence)")
    #expect(explanation.sentence.hasSuffix("."))
    #expect(!explanation.sentence.hasSuffix(".."))
    #expect(!explanation.sentence.contains("\n"))
    guard let step = example.step else {
      #expect(explanation.nextStep == nil)
      return
    }
    #expect(explanation.nextStep?.contains(step) == true, "\(explanation.nextStep ?? "none")")
  }

  @Test(arguments: ["it is over.", "it is over. ", "it is over"])
  func `a reason that is a sentence of its own does not double the stop`(reason: String) {
    let explanation = Explanation(
      Self.snapshot(.signedOut(reason: reason)), undestroyed: nil, now: Self.now)
    #expect(explanation.sentence == "Nobody is signed in: it is over.")
  }
}
