/// One thing that Health looked at.
package struct Check: Codable, Hashable, Sendable {
  package var name: String
  package var ok: Bool
  package var detail: String

  package init(name: String, ok: Bool, detail: String) {
    self.name = name
    self.ok = ok
    self.detail = detail
  }
}

/// One setting in force, and the file and line that it came from.
package struct Setting: Codable, Hashable, Sendable {
  package var section: String
  package var key: String
  package var value: String
  package var origin: String

  package init(section: String, key: String, value: String, origin: String) {
    self.section = section
    self.key = key
    self.value = value
    self.origin = origin
  }
}
