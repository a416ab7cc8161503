/// The store as it stands on disk (`Store` in the interface). Sizes are in bytes.
package struct StoreReport: Codable, Hashable, Sendable {
  package var path: String
  package var schemaVersion: Int
  package var sizeBytes: Int
  package var walSizeBytes: Int
  package var cachedTips: Int
  /// How credentials are sealed and which key opened them, in words.
  package var encryption: String
  package var integrity: String

  package init(
    path: String, schemaVersion: Int, sizeBytes: Int, walSizeBytes: Int, cachedTips: Int,
    encryption: String, integrity: String
  ) {
    self.path = path
    self.schemaVersion = schemaVersion
    self.sizeBytes = sizeBytes
    self.walSizeBytes = walSizeBytes
    self.cachedTips = cachedTips
    self.encryption = encryption
    self.integrity = integrity
  }
}
