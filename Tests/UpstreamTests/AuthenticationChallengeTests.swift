import Requests
import Testing

@Suite(.timeLimit(.minutes(1)))
struct AuthenticationChallengeTests {
  typealias Challenge = AuthenticationChallenge

  @Test(
    arguments: [
      ("", []),
      ("Bearer", [Challenge(scheme: "bearer")]),
      ("Bearer realm=\"a\"", [Challenge(scheme: "bearer", parameters: ["realm": "a"])]),
      // The example of RFC 9110, section 11.6.1.
      (
        #"Basic realm="simple", Newauth realm="apps", type=1, title="Login to \"apps\"""#,
        [
          Challenge(scheme: "basic", parameters: ["realm": "simple"]),
          Challenge(
            scheme: "newauth",
            parameters: ["realm": "apps", "type": "1", "title": "Login to \"apps\""]),
        ]
      ),
      // As django-oauth-toolkit writes it.
      (
        #"Bearer error="invalid_token",error_description="expired, it is",resource_metadata="u""#,
        [
          Challenge(
            scheme: "bearer",
            parameters: [
              "error": "invalid_token", "error_description": "expired, it is",
              "resource_metadata": "u",
            ])
        ]
      ),
      (
        "Negotiate YWJj==, NTLM, Bearer\trealm = x ,error= \"y\"",
        [
          Challenge(scheme: "negotiate", token68: "YWJj=="), Challenge(scheme: "ntlm"),
          Challenge(scheme: "bearer", parameters: ["realm": "x", "error": "y"]),
        ]
      ),
      (
        ",, Bearer a=1,, ,b=2, A=3,",
        [Challenge(scheme: "bearer", parameters: ["a": "1", "b": "2"])]
      ),
      // What cannot be read costs itself alone.
      (
        "(odd \"x, y\"), realm=nobody, Bearer error=insufficient_scope, @, Digest",
        [
          Challenge(
            scheme: "bearer", parameters: ["error": "insufficient_scope"]),
          Challenge(scheme: "digest"),
        ]
      ),
      ("Bearer error=\"open", [Challenge(scheme: "bearer", parameters: ["error": "open"])]),
      ("Bearer error=\"open\\", [Challenge(scheme: "bearer", parameters: ["error": "open\\"])]),
    ] as [(String, [Challenge])])
  func `a field is read as the challenges that it holds`(text: String, expected: [Challenge]) {
    #expect(Challenge.parse(text) == expected)
  }

  /// B53 at the level of the header.
  @Test(arguments: [
    ([#"Bearer error="insufficient_scope""#], true),
    ([#"Bearer realm="x", error="insufficient_scope", scope="tips write""#], true),
    ([#"BEARER Error="Insufficient_Scope""#], true),
    ([#"Basic realm="x", Bearer error=insufficient_scope"#], true),
    ([#"Bearer realm="x""#, #"Bearer error="insufficient_scope""#], true),
    ([#"Bearer error="invalid_token""#], false),
    // A name or a quoted text that only looks like it.
    ([#"Basic realm="x, error=insufficient_scope""#], false),
    ([#"Bearer error_description="error=insufficient_scope""#], false),
    ([#"Bearer xerror="insufficient_scope""#], false),
    ([#"DPoP error="insufficient_scope", Bearer error="invalid_token""#], false),
    ([], false),
  ])
  func `a missing scope is told from a dead token`(values: [String], expected: Bool) {
    let response = HTTPResponse(
      status: 401, fields: values.map { HTTPField("www-authenticate", $0) })
    #expect(Challenge.saysInsufficientScope(response) == expected)
  }

  @Test func `no text hangs or traps the reader`() {
    let pieces = ["Bearer", " ", ",", "=", "\"", "\\", "a", "(", "é", "\t"]
    var texts = [""]
    for _ in 0..<4 { texts += texts.flatMap { text in pieces.map { text + $0 } } }
    for text in texts { _ = Challenge.parse(text) }
  }
}
