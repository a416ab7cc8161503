import Execution
import Session

/// How long earlier sessions lived until the upstream refused them. The rows survive logouts, as the
/// history does, and hold no secrets.
extension Database {
  func lives() throws(SQLiteError) -> [SessionLife] {
    let rows = try rows(
      """
      SELECT issuer, client_id, api_origin, account, signed_in_at, last_good_at, refused_at
      FROM life ORDER BY id
      """, to: "read how earlier sessions ended")
    var lives: [SessionLife] = []
    for row in rows {
      lives.append(
        SessionLife(
          binding: UpstreamBinding(
            issuer: try row.text(0), clientID: try row.text(1), apiOrigin: try row.text(2)),
          account: try row.optionalText(3), signedInAt: WallTime(milliseconds: try row.integer(4)),
          lastGoodAt: WallTime(milliseconds: try row.integer(5)),
          refusedAt: WallTime(milliseconds: try row.integer(6))))
    }
    return lives
  }

  /// The newest stay.
  func addLife(_ life: SessionLife) throws(SQLiteError) {
    try run(
      """
      INSERT INTO life
        (issuer, client_id, api_origin, account, signed_in_at, last_good_at, refused_at)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(life.binding.issuer), .text(life.binding.clientID), .text(life.binding.apiOrigin),
        .optional(life.account), .integer(life.signedInAt.milliseconds),
        .integer(life.lastGoodAt.milliseconds), .integer(life.refusedAt.milliseconds),
      ], to: "record how a session ended")
    try run(
      "DELETE FROM life WHERE id NOT IN (SELECT id FROM life ORDER BY id DESC LIMIT ?)",
      [.integer(Int64(LoginForecast.kept))], to: "drop how old sessions ended")
  }
}
