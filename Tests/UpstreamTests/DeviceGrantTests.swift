import DemoUpstream
import Execution
import Requests
import TestSupport
import Testing

@testable import Upstream

@Suite(.timeLimit(.minutes(1)))
struct DeviceGrantTests {
  private static let codes = """
    {"device_code":"dummy-device-code","user_code":"WDJB-\\u001b[31mMJHT",
     "verification_uri":"https://as.example/device",
     "verification_uri_complete":"https://as.example/device?user_code=WDJB-MJHT",
     "expires_in":1800,"interval":1}
    """

  private func signIn(_ fixture: UpstreamFixture) async -> Result<PlainTokens, GrantFailure> {
    let device = DeviceGrant(grant: fixture.grant())
    do throws(GrantFailure) {
      let authorization = try await device.begin(deadline: fixture.later)
      return .success(PlainTokens(try await device.wait(for: authorization)))
    } catch {
      return .failure(error)
    }
  }

  private static func pending(_ code: String) -> Step {
    .json(#"{"error":"\#(code)"}"#, status: 400)
  }

  private static let granted = Step.json(
    #"{"access_token":"dummy-access-1","token_type":"bearer","refresh_token":"dummy-refresh-1"}"#)

  @Test func `a person who enters the code is signed in`() async throws {
    let fixture = try UpstreamFixture()
    fixture.upstream.always(.post, "/device", .json(Self.codes))
    fixture.upstream.script(.post, "/token", [Self.pending("authorization_pending"), Self.granted])
    let device = DeviceGrant(grant: fixture.grant())
    let authorization = try await device.begin(deadline: fixture.later)
    #expect(
      authorization.prompt
        == DevicePrompt(
          verificationURI: "https://as.example/device",
          verificationURIComplete: "https://as.example/device?user_code=WDJB-MJHT",
          userCode: "WDJB-\u{FFFD}MJHT"))
    let tokens = PlainTokens(try await device.wait(for: authorization))
    #expect(tokens.access == "dummy-access-1" && tokens.refresh == "dummy-refresh-1")
    let log = fixture.upstream.log
    #expect(
      log[0].fields == [
        "client_id": "brewlog", "scope": "tips", "resource": "https://api.example/",
      ])
    #expect(
      log[1].fields == [
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code", "device_code": "secret",
        "client_id": "brewlog",
      ])
    #expect(log.count == 3)
    #expect(await fixture.close() == 0)
  }

  @Test(arguments: [
    ("access_denied", 400, GrantFailure.Kind.denied), ("expired_token", 400, .expired),
    ("invalid_client", 401, .misconfigured), ("device_not_found", 404, .misconfigured),
  ])
  func `a no ends the attempt`(code: String, status: Int, kind: GrantFailure.Kind) async throws {
    let fixture = try UpstreamFixture()
    fixture.upstream.always(.post, "/device", .json(Self.codes))
    fixture.upstream.always(.post, "/token", .json(#"{"error":"\#(code)"}"#, status: status))
    guard case .failure(let failure) = await signIn(fixture) else {
      Issue.record("signed in")
      return
    }
    #expect(failure.kind == kind)
    #expect(fixture.upstream.requests("/token") == 1)
    #expect(await fixture.close() == 0)
  }

  @Test func `codes that nobody enters end by our own count`() async throws {
    let fixture = try UpstreamFixture()
    fixture.upstream.always(
      .post, "/device",
      .json(
        #"{"device_code":"d","user_code":"u","verification_url":"http://127.0.0.1/","expires_in":"1"}"#
      ))
    fixture.upstream.always(.post, "/token", Self.pending("authorization_pending"))
    guard case .failure(let failure) = await signIn(fixture) else {
      Issue.record("signed in")
      return
    }
    #expect(failure.kind == .expired)
    #expect(await fixture.close() == 0)
  }

  @Test func `a cancelled attempt ends at once, between polls and in one`() async throws {
    for holding in [false, true] {
      let fixture = try UpstreamFixture()
      let interval = holding ? "1" : "1000"
      let body = Self.codes.split(separator: "\"interval\":1").joined(
        separator: "\"interval\":\(interval)")
      fixture.upstream.always(.post, "/device", Step.json(body).held("begun"))
      fixture.upstream.always(.post, "/token", .hold("poll"))
      let task = Task { await signIn(fixture) }
      await fixture.upstream.arrived("begun")
      fixture.upstream.release("begun")
      if holding { await fixture.upstream.arrived("poll") }
      task.cancel()
      guard case .failure(let failure) = await task.value else {
        Issue.record("signed in")
        return
      }
      #expect(failure.kind == .cancelled)
      #expect(await fixture.close() == 0)
    }
  }

  @Test(arguments: [
    "", "[]", "{}", #"{"device_code":"d","user_code":"u"}"#,
    #"{"device_code":"d","user_code":"u","verification_uri":"javascript:alert(1)"}"#,
    #"{"device_code":"d","user_code":"u","verification_uri":"https://a b/"}"#,
    #"{"device_code":"","user_code":"u","verification_uri":"https://as.example/"}"#,
    #"{"device_code":"d","user_code":"","verification_uri":"https://as.example/"}"#,
  ])
  func `an answer without what a person needs is refused`(body: String) {
    #expect(throws: GrantFailure.self) {
      _ = try DeviceGrant.read(Array(body.utf8), now: Instant(nanoseconds: 0))
    }
  }

  @Test func `polls slow down when asked, and when nobody answers`() {
    var policy = DevicePollPolicy(interval: .seconds(5))
    func answer(_ code: String) -> HTTPResponse {
      HTTPResponse(status: 400, body: Array(#"{"error":"\#(code)"}"#.utf8))
    }
    #expect(policy.take(answer("authorization_pending")) == .again)
    #expect(policy.interval == .seconds(5))
    #expect(policy.take(answer("slow_down")) == .again)
    #expect(policy.interval == .seconds(10))
    #expect(policy.take(TransportError(.lost, reason: "")) == .again)
    #expect(policy.interval == .seconds(20))
    #expect(policy.take(HTTPResponse(status: 502, body: Array("<html>".utf8))) == .again)
    #expect(policy.interval == .seconds(40))
    #expect(policy.take(HTTPResponse(status: 500)) == .again)
    #expect(policy.interval == .seconds(60))
    #expect(policy.take(HTTPResponse(status: 200)) == .granted)
  }
}
