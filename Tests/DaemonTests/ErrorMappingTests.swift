import BrewlogAPI
import Execution
import JSON
import Session
import Testing
import Tips
import Varlink

@testable import Daemon

/// Every error of the domain becomes one that the contract declares, with its parameters.
@Suite(.timeLimit(.minutes(1)))
struct ErrorMappingTests {
  private static let generation = Generation(9)

  static let session: [(SessionError, String, [String])] = [
    (
      .signedOut(generation: generation, reason: "r"), "Session.SignedOut",
      ["generation", "reason"]
    ),
    (.suspended(reason: "r"), "Session.Suspended", ["reason"]),
    (
      .refreshFailed(reason: "r", httpStatus: 503, retryAfter: .milliseconds(1)),
      "Session.RefreshFailed", ["reason", "retryAfterSeconds"]
    ),
    (
      .refreshFailed(reason: "r", httpStatus: nil, retryAfter: nil), "Session.RefreshFailed",
      ["reason"]
    ),
    (.braked(retryAfter: .seconds(30)), "Session.RefreshFailed", ["reason", "retryAfterSeconds"]),
    (.storeFailed(reason: "r"), "Session.StoreFailed", ["reason"]),
    (.generationMoved(generation), "Session.GenerationMoved", ["generation"]),
    (.spentToken(reason: "r"), "Session.SpentToken", ["reason"]),
    (.timedOut, "Session.RefreshFailed", ["reason"]),
    (.cancelled, "Session.RefreshFailed", ["reason"]),
    (.stopping, "Session.RefreshFailed", ["reason"]),
  ]

  @Test(arguments: session)
  func `an error of the session`(error: SessionError, name: String, parameters: [String]) {
    expect(ErrorMapping.map(error), name, parameters)
  }

  @Test(arguments: [
    (SessionError.stopping, "Session.StoreFailed"),
    (.storeFailed(reason: "r"), "Session.StoreFailed"),
    (.signedOut(generation: generation, reason: "r"), "Session.SignedOut"),
    (.spentToken(reason: "r"), "Session.SpentToken"),
  ])
  func `a sign-in that a stop overtakes has not failed to refresh`(
    error: SessionError, name: String
  ) {
    #expect(ErrorMapping.mapChange(error).name == "org.brewlog." + name)
  }

  static let tips: [(TipError, String, [String])] = [
    (.signedOut(generation: generation, reason: "r"), "Tips.SignedOut", ["generation", "reason"]),
    (.suspended(reason: "r"), "Tips.Suspended", ["reason"]),
    (.unavailable(reason: "r", httpStatus: nil, retryAfter: nil), "Tips.Unavailable", ["reason"]),
    (
      .unavailable(reason: "r", httpStatus: 429, retryAfter: .seconds(7)), "Tips.Unavailable",
      ["httpStatus", "reason", "retryAfterSeconds"]
    ),
    (.refused(reason: "r", httpStatus: 403), "Tips.Refused", ["httpStatus", "reason"]),
    (.notFound(id: "i"), "Tips.NotFound", ["id"]),
    (.malformed(reason: "r"), "Tips.Malformed", ["reason"]),
    (.tooMany(retryAfter: .milliseconds(1)), "Tips.TooMany", ["retryAfterSeconds"]),
    (.cancelled, "Tips.Unavailable", ["reason"]),
  ]

  @Test(arguments: tips)
  func `an error of the tips`(error: TipError, name: String, parameters: [String]) {
    expect(ErrorMapping.map(error), name, parameters)
  }

  static let stores: [StoreError] = [
    .generationMoved(stored: generation), .full, .busy, .readOnly, .failed("d"), .closed,
  ]

  @Test(arguments: session.map(\.0))
  func `the history says in words why a sign-in failed`(error: SessionError) {
    let words = LoginError.session(error).words
    #expect(!words.contains("("), "a value of the program, spelt out: \(words)")
    #expect(!words.isEmpty)
  }

  @Test(arguments: stores)
  func `an error of the store`(error: StoreError) {
    expect(ErrorMapping.map(error), "Session.StoreFailed", ["reason"])
  }

  @Test func `an error of a logout`() {
    expect(
      ErrorMapping.map(LogoutError.generationMoved(Self.generation)), "Session.GenerationMoved",
      ["generation"])
  }

  @Test func `what cannot be used is a parameter`() {
    #expect(ErrorMapping.map(TipError.invalidID(reason: "r")) == .invalidParameter("id"))
    #expect(
      ErrorMapping.map(SessionError.unusable(reason: "r")) == .invalidParameter("accessToken"))
  }

  @Test func `a wait is rounded up so that nobody comes too early`() {
    let error = ErrorMapping.map(TipError.tooMany(retryAfter: .milliseconds(1_001)))
    #expect(error.parameters["retryAfterSeconds"] == 2)
  }

  private func expect(_ error: VarlinkError, _ name: String, _ parameters: [String]) {
    #expect(error.name == "org.brewlog." + name)
    #expect(error.parameters.keys.sorted() == parameters)
    #expect(error.parameters["generation"] ?? 9 == 9)
    if case .other = APIError(error) { Issue.record("the contract has no \(error.name)") }
    #expect(APIError(error).varlinkError == error)
  }
}
