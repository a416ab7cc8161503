/// One request as a test looks at it afterwards. No token is in it: where one was presented, its
/// label stands ("access-0", "refresh-2", "unknown").
package struct LogEntry: Sendable, Equatable {
  package var method: Method
  /// As it was sent, still encoded, without the query.
  package var path: String
  package var query: String
  /// Nil: not answered (yet), or the connection was closed in place of an answer.
  package var status: Int?
  /// Names in lower case, without `Authorization`.
  package var headers: [String: String]
  /// Which token `Authorization: Bearer` carried. Nil: none.
  package var bearer: String?
  /// The scheme of `Authorization`, as it was written.
  package var scheme: String?
  /// The texts of a form or a JSON object; tokens as labels, secrets as "secret".
  package var fields: [String: String]
  package var bodyLength: Int
  /// Which connection it came on, counted from 1.
  package var connection: Int

  init(_ request: Request, connection: Int) {
    method = request.method
    path = request.path
    query = request.query
    headers = request.headers.filter { $0.key != "authorization" }
    bearer = request.bearer.map(Account.label(of:))
    scheme = request.headers["authorization"].map { String($0.prefix { $0 != " " }) }
    bodyLength = request.body.count
    self.connection = connection
    fields = Dictionary(
      uniqueKeysWithValues: request.fields.map { name, value in
        switch name {
        case "client_secret", "code", "code_verifier", "device_code": (name, "secret")
        case "refresh_token", "refreshToken", "token": (name, Account.label(of: value))
        default: (name, value)
        }
      })
  }

  /// The line of the access log: method, path, status. The query may hold codes and is left out;
  /// what is not printable ASCII becomes "?".
  package var line: String {
    "\(Self.printable(method.text)) \(Self.printable(path)) \(status.map { String($0) } ?? "-")"
  }

  private static func printable(_ text: String) -> String {
    let bytes = text.utf8.prefix(200).map { (0x21...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }
    return String(decoding: bytes, as: UTF8.self)
  }
}
