import Execution
import JSON
import Secrets
import Session

/// A session's facts as they stand in the row: JSON that a person can read with `sqlite3`. The
/// sealed pair is bound to these very bytes, so a change in any of them shows as damage (I11 rests
/// on that for the binding).
struct StoredFacts: Codable {
  var id: String
  var generation: UInt64
  var issuer: String
  var clientID: String
  var apiOrigin: String
  var account: String?
  var accountVerified: Bool
  var signedInAt: Int64
  var scope: String?
  var rotations: Int
  var lastRefreshAt: Int64?
  var accessTokenReceivedAt: Int64
  var accessTokenExpiresAt: Int64?
  var refreshTokenExpiresAt: Int64?
  var refreshEndMoves: Bool?

  init(_ facts: SessionFacts) {
    id = facts.id.hex
    generation = facts.generation.number
    issuer = facts.binding.issuer
    clientID = facts.binding.clientID
    apiOrigin = facts.binding.apiOrigin
    account = facts.account
    accountVerified = facts.accountVerified
    signedInAt = facts.signedInAt.milliseconds
    scope = facts.scope
    rotations = facts.rotations
    lastRefreshAt = facts.lastRefreshAt?.milliseconds
    accessTokenReceivedAt = facts.accessTokenReceivedAt.milliseconds
    accessTokenExpiresAt = facts.accessTokenExpiresAt?.milliseconds
    refreshTokenExpiresAt = facts.refreshTokenExpiresAt?.milliseconds
    refreshEndMoves = facts.refreshEndMoves ? true : nil
  }

  /// Nil where the session's id is not one.
  var facts: SessionFacts? {
    guard let bytes = [UInt8](hex: id), let session = SessionID(bytes: bytes) else { return nil }
    var facts = SessionFacts(
      id: session, generation: Generation(generation),
      binding: UpstreamBinding(issuer: issuer, clientID: clientID, apiOrigin: apiOrigin),
      account: account, accountVerified: accountVerified,
      signedInAt: WallTime(milliseconds: signedInAt), scope: scope, rotations: rotations,
      lastRefreshAt: lastRefreshAt.map(WallTime.init(milliseconds:)),
      accessTokenReceivedAt: WallTime(milliseconds: accessTokenReceivedAt),
      accessTokenExpiresAt: accessTokenExpiresAt.map(WallTime.init(milliseconds:)),
      refreshTokenExpiresAt: refreshTokenExpiresAt.map(WallTime.init(milliseconds:)))
    facts.refreshEndMoves = refreshEndMoves ?? false
    return facts
  }

  static func encode(_ facts: SessionFacts) -> [UInt8] {
    // Strings, whole numbers and a flag: cannot fail.
    (try? JSONText.encode(StoredFacts(facts))) ?? []
  }

  static func decode(_ bytes: [UInt8]) -> SessionFacts? {
    (try? JSONText.decode(StoredFacts.self, from: bytes))?.facts
  }
}
