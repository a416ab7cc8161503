/// A name on the wire whose list may grow. A newer daemon must not break an older client, so a name
/// that is not known here is kept as it came and never refused.
package protocol OpenName: Codable, Hashable, Sendable {
  /// Every name that this version knows.
  static var known: [Self] { get }
  /// Holds a name that this version does not know.
  static func unknown(_ name: String) -> Self
  /// The name as it stands on the wire.
  var name: String { get }
}

extension OpenName {
  package init(name: String) {
    self = Self.known.first { $0.name == name } ?? .unknown(name)
  }

  package init(from decoder: any Decoder) throws {
    self.init(name: try decoder.singleValueContainer().decode(String.self))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(name)
  }
}
