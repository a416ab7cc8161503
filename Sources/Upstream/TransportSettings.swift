/// How the upstream is reached; fixed for the life of a transport.
package struct TransportSettings: Sendable {
  /// Up to here a try counts as not sent.
  package var connectTimeout: Duration = .seconds(10)
  /// The longest body that is taken, counted after decompression.
  package var maxBodyBytes = 1 << 20
  /// `http`, `https` or `socks5` URL of a proxy; nil: what the environment says.
  package var proxy: String?
  /// PEM bundle of the authorities that are trusted; nil: the system's.
  package var caFile: String?
  /// Lets `http` go to other hosts than loopback.
  package var allowCleartext = false
  /// Product and version.
  package var userAgent = "brewlog"
  /// Judges the address that a connection has reached; tests put another judge here.
  package var isLoopback: @Sendable (_ address: String) -> Bool = LoopbackAddress.contains

  package init() {}
}

/// The addresses that never leave the host.
package enum LoopbackAddress {
  /// `address` in numbers: 127.0.0.0/8, ::1, and the first mapped into IPv6.
  package static func contains(_ address: String) -> Bool {
    if address == "::1" { return true }
    let prefix = "::ffff:"
    let plain = address.hasPrefix(prefix) ? address.dropFirst(prefix.utf8.count) : address[...]
    let parts = plain.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
  }

  /// A host that names this one without being looked up (RFC 6761 section 6.3).
  static func isLiteral(host: String) -> Bool {
    contains(host) || host == "localhost" || host.hasSuffix(".localhost")
  }
}
