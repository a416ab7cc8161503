import Testing

@testable import Upstream

@Suite(.timeLimit(.minutes(1)))
struct TokenReplyTests {
  @Test func `a full answer is read whole`() throws {
    let reply = try plain(
      Array(
        """
        {"access_token": "dummy-access-1", "token_type": "BEARER", "expires_in": 3600,
         "refresh_token": "dummy-refresh-1", "scope": "tips", "account": "ada\\u001b[31m",
         "refresh_expires_in": 7200, "other": {"a": [1, "}", null]}}
        """.utf8), names: .oauth2)
    #expect(reply.access == "dummy-access-1")
    #expect(reply.refresh == "dummy-refresh-1")
    #expect(reply.lifetime == .seconds(3600))
    #expect(reply.refreshLifetime == .seconds(7200))
    #expect(reply.scope == "tips")
    #expect(reply.account == "ada\u{FFFD}")
  }

  @Test func `the simple dialect has its own names`() throws {
    let reply = try plain(
      Array(#"{"token":"dummy-access-1","refreshToken":null,"expiresIn":"60"}"#.utf8),
      names: .simple)
    #expect(reply.access == "dummy-access-1")
    #expect(reply.refresh == nil)
    #expect(reply.lifetime == .seconds(60))
  }

  @Test(arguments: [
    ("3600", 3600), ("\"3600\"", 3600), ("3600.0", 3600), ("3599.5", 3599), ("3.6e3", 3600),
    ("\"3599.9\"", 3599), ("1", 1), ("31536000", 31_536_000),
  ])
  func `a lifetime is a number or a string of one`(value: String, seconds: Int) throws {
    #expect(try Self.lifetime(value) == .seconds(seconds))
  }

  @Test(arguments: [
    "0", "-5", "0.5", "31536001", "2147483648", "4294967296", "1e13", "\"1e13\"", "9.3e18", "1e300",
    "1e999", "null", "true", "[]", "{}", "\" 3600 \"", "\"3600s\"", "\"\"", "\"0x10\"", "\"nan\"",
    "\"inf\"", "\"\\u0031\"",
  ])
  func `a lifetime that makes no sense is not known, and the tokens count`(value: String) throws {
    #expect(try Self.lifetime(value) == nil)
  }

  private static func lifetime(_ value: String) throws -> Duration? {
    let body = #"{"access_token":"dummy-access-1","expires_in":\#(value)}"#
    return try plain(Array(body.utf8), names: .oauth2).lifetime
  }

  @Test(arguments: [
    "", "null", "[]", "\"text\"", "<html></html>", "{", "{}", #"{"token_type":"Bearer"}"#,
    #"{"access_token":""}"#, #"{"access_token":null}"#, #"{"access_token":5}"#,
    #"{"access_token":"with space"}"#, #"{"access_token":"line\nend"}"#,
    #"{"access_token":"umlaut ü"}"#, #"{"access_token":"a","token_type":"mac"}"#,
    #"{"access_token":"a","token_type":5}"#, #"{"access_token":"a","refresh_token":5}"#,
    #"{"access_token":"a","refresh_token":"x\u0000y"}"#,
    #"{"access_token":"a","refresh_token":"x\r\ny"}"#,
    #"{"access_token":"a","refresh_token":"x\u0085y"}"#,
    #"{"access_token":"a","refresh_token":"\ud800"}"#,
    #"{"access_token":"a","access_token":"b"}"#, #"{"access_token":"a"} {}"#,
    #"{"access_token":"a",}"#, #"{"access_token":"a" "b":1}"#, #"{'access_token':'a'}"#,
    #"{"access_token":"a","x":01}"#, #"{"access_token":"a","x":tru}"#, #"{"access_token":"a"#,
    #"{"access_token":"\x"}"#, "{\"access_token\":\"a\u{1}\"}",
  ])
  func `an answer that is not well formed is refused`(body: String) {
    #expect(throws: TokenReply.Malformed.self) {
      _ = try plain(Array(body.utf8), names: .oauth2)
    }
  }

  @Test func `escapes, a byte order mark and deep nesting are read`() throws {
    var body: [UInt8] = [0xEF, 0xBB, 0xBF]
    body += Array(
      #" { "access\u005ftoken" : "a\/b\u002Bc=" , "refresh_token":"\ud83d\ude00" } "#.utf8)
    let reply = try plain(body, names: .oauth2)
    #expect(reply.access == "a/b+c=")
    #expect(reply.refresh == "😀")
    let deep = String(repeating: "[", count: 5000)
    #expect(throws: TokenReply.Malformed.self) {
      _ = try plain(Array(#"{"access_token":"a","x":\#(deep)"#.utf8), names: .oauth2)
    }
  }

  @Test func `an empty refresh token means that the old one stays`() throws {
    let body = #"{"access_token":"dummy-access-1","refresh_token":""}"#
    #expect(try plain(Array(body.utf8), names: .oauth2).refresh == nil)
  }

  @Test func `no cut of an answer is taken for a whole one`() {
    let body = Array(
      #"{"access_token":"dummy-access-1","expires_in":36,"x":[true,{"y":"z"}]}"#.utf8)
    for end in 0..<body.count {
      #expect(throws: TokenReply.Malformed.self) {
        _ = try plain(Array(body[..<end]), names: .oauth2)
      }
    }
  }
}
