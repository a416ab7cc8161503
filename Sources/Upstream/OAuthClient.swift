import Requests
package import Secrets

/// How this installation shows the authorization server which client it is (RFC 6749 section 2.3).
/// A class, since a secret has one owner and several endpoints share the client.
package final class OAuthClient: Sendable {
  package enum Authentication: Sendable {
    /// `client_secret_basic`.
    case basic
    /// `client_secret_post`.
    case post
    /// A public client: its id alone.
    case none
  }

  package let id: String
  package let authentication: Authentication
  private let secret: Secret?

  /// Without a secret a client is public, whatever is asked for.
  package init(
    id: String, authentication: Authentication = .basic, secret: consuming Secret? = nil
  ) {
    self.id = id
    let hasSecret =
      switch secret {
      case .some: true
      case .none: false
      }
    self.authentication = hasSecret ? authentication : .none
    self.secret = secret
  }

  /// How many bytes `addToForm` may add as values.
  var formCapacity: Int {
    switch secret {
    case .some(let secret): id.utf8.count + secret.count
    case .none: id.utf8.count
    }
  }

  /// Adds what stands in the form; with `basic` that is nothing.
  func addToForm(_ form: inout FormBody) {
    switch authentication {
    case .basic: return
    case .none:
      if !id.isEmpty { form.append("client_id", id) }
    case .post:
      form.append("client_id", id)
      switch secret {
      case .some(let secret): form.append("client_secret", secret)
      case .none: break
      }
    }
  }

  /// What goes after `Authorization: Basic`: id and secret, each form-encoded first
  /// (section 2.3.1). Nil with another authentication.
  func basicCredentials() throws(SecretError) -> Secret? {
    guard authentication == .basic else { return nil }
    switch secret {
    case .none: return nil
    case .some(let secret):
      var plain: [UInt8] = []
      plain.reserveCapacity(3 * (id.utf8.count + secret.count) + 1)
      for byte in id.utf8 { FormBody.escape(byte, into: &plain) }
      plain.append(UInt8(ascii: ":"))
      secret.withBytes { bytes in
        for byte in bytes { FormBody.escape(byte, into: &plain) }
      }
      var encoded = Base64.encode(plain)
      defer {
        wipe(&plain)
        wipe(&encoded)
      }
      return try Secret(copying: encoded)
    }
  }
}

/// RFC 4648. Our own, since the library's goes through strings, which cannot be wiped.
enum Base64 {
  private static let standard = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  static func encode(_ bytes: [UInt8]) -> [UInt8] {
    var output: [UInt8] = []
    output.reserveCapacity((bytes.count + 2) / 3 * 4)
    var index = 0
    while index < bytes.count {
      let count = min(3, bytes.count - index)
      var group = UInt32(bytes[index]) << 16
      if count > 1 { group |= UInt32(bytes[index + 1]) << 8 }
      if count > 2 { group |= UInt32(bytes[index + 2]) }
      for place in 0..<4 {
        output.append(
          place <= count
            ? standard[Int(group >> UInt32(18 - 6 * place)) & 63] : UInt8(ascii: "="))
      }
      index += 3
    }
    return output
  }

  /// Section 5: the alphabet for URLs, without padding.
  static func encodeForURL(_ bytes: [UInt8]) -> [UInt8] {
    var encoded = encode(bytes)
    while encoded.last == UInt8(ascii: "=") { encoded.removeLast() }
    for index in encoded.indices {
      switch encoded[index] {
      case UInt8(ascii: "+"): encoded[index] = UInt8(ascii: "-")
      case UInt8(ascii: "/"): encoded[index] = UInt8(ascii: "_")
      default: break
      }
    }
    return encoded
  }
}
