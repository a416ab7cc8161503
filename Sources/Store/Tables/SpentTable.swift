import Execution
import Session

/// Fingerprints of refresh tokens whose replacement was committed, so that one of them is not
/// imported again. They survive logouts, and give nothing of a token away.
extension Database {
  static let spentKept = 1000

  func isSpent(_ token: Fingerprint) throws(SQLiteError) -> Bool {
    try !rows("SELECT 1 FROM spent WHERE token = ?", [.text(token.text)], to: "look a token up")
      .isEmpty
  }

  func addSpent(_ tokens: [Fingerprint], at now: WallTime) throws(SQLiteError) {
    for token in tokens {
      try run(
        "INSERT OR REPLACE INTO spent (token, at) VALUES (?, ?)",
        [.text(token.text), .integer(now.milliseconds)], to: "record a spent token")
    }
    guard !tokens.isEmpty else { return }
    try run(
      "DELETE FROM spent WHERE token NOT IN (SELECT token FROM spent ORDER BY at DESC LIMIT ?)",
      [.integer(Int64(Self.spentKept))], to: "drop old spent tokens")
  }

  /// A token that the server has handed out (again) is not spent.
  func removeSpent(_ token: Fingerprint) throws(SQLiteError) {
    try run("DELETE FROM spent WHERE token = ?", [.text(token.text)], to: "clear a spent token")
  }
}
