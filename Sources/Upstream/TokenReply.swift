import JSON
import Secrets
package import Session

/// A token endpoint's answer, read strictly where it matters and kindly where servers differ
/// (`upstream.md`, "Token answers"; RFC 6749 section 5.1).
package enum TokenReply {
  /// How the members are called.
  package struct Names: Sendable {
    var access: String
    var refresh: String
    var lifetime: String
    /// Nil: the dialect knows no type.
    var type: String?

    package static let oauth2 = Names(
      access: "access_token", refresh: "refresh_token", lifetime: "expires_in",
      type: "token_type")
    package static let simple = Names(
      access: "token", refresh: "refreshToken", lifetime: "expiresIn", type: nil)
  }

  /// What is wrong with an answer; never what stands in it.
  package struct Malformed: Error, Equatable, CustomStringConvertible {
    package let description: String
  }

  /// Past this a lifetime is a mistake, and not known.
  private static let longestLifetime = 365.0 * 86_400

  /// Does not wipe `body`; its owner does.
  package static func parse(
    _ body: [UInt8], names: Names
  ) throws(Malformed) -> GrantedTokens {
    guard let members = JSONMembers(body) else {
      throw Malformed(description: body.isEmpty ? "an empty body" : "not a JSON object")
    }
    try checkType(members, body, names.type)
    guard case .string(let range)? = members.values[names.access] else {
      throw Malformed(description: "no \(names.access)")
    }
    let access = try secret(body, range, names.access) { (0x21...0x7E).contains($0) }
    return GrantedTokens(
      access: access, refresh: try refreshToken(members, body, names.refresh),
      lifetime: lifetime(members.values[names.lifetime], body),
      scope: text(members.values["scope"], body, limit: 1000),
      account: text(members.values["account"], body, limit: 200),
      refreshLifetime: lifetime(
        members.values["refresh_expires_in"] ?? members.values["refresh_token_expires_in"], body))
  }

  private static func checkType(
    _ members: JSONMembers, _ body: [UInt8], _ name: String?
  ) throws(Malformed) {
    guard let name, let type = members.values[name], type != .null else { return }
    guard case .string(let range) = type,
      JSONMembers.text(body, range)?.lowercased() == "bearer"
    else { throw Malformed(description: "a token_type other than Bearer") }
  }

  /// Absent, null and empty all mean that the old one stays.
  private static func refreshToken(
    _ members: JSONMembers, _ body: [UInt8], _ name: String
  ) throws(Malformed) -> Secret? {
    switch members.values[name] {
    case nil, .null?: return nil
    case .string(let range)? where range.isEmpty: return nil
    case .string(let range)?:
      // Opaque to us; whatever is text may stand in a form or in JSON.
      return try secret(body, range, name) { $0 >= 0x20 && $0 != 0x7F }
    default: throw Malformed(description: "a \(name) that is no string")
    }
  }

  private static func secret(
    _ body: [UInt8], _ range: Range<Int>, _ name: String, allowing: (UInt8) -> Bool
  ) throws(Malformed) -> Secret {
    guard var plain = JSONMembers.unescaped(body, range) else {
      throw Malformed(description: "a \(name) that is no proper text")
    }
    defer { wipe(&plain) }
    // U+0080…U+009F are controls, too, and two bytes long.
    let hasC1 = zip(plain, plain.dropFirst()).contains { $0 == 0xC2 && (0x80...0x9F).contains($1) }
    guard !plain.isEmpty, !hasC1, plain.allSatisfy(allowing) else {
      throw Malformed(description: "a \(name) that is empty or has characters no token has")
    }
    do throws(SecretError) {
      return try Secret(copying: plain)
    } catch {
      throw Malformed(description: "no locked memory for a token")
    }
  }

  /// A number, or a string of one; a fraction is cut. All else: not known.
  static func lifetime(_ value: JSONMembers.Value?, _ body: [UInt8]) -> Duration? {
    let digits: String
    switch value {
    case .number(let range)?: digits = String(decoding: body[range], as: UTF8.self)
    case .string(let range)?:
      digits = String(decoding: body[range], as: UTF8.self)
      // Double also reads hexadecimal and words.
      guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) || ".eE+-".utf8.contains($0) })
      else { return nil }
    default: return nil
    }
    guard let seconds = Double(digits), seconds >= 1, seconds <= longestLifetime else {
      return nil
    }
    return .seconds(Int(seconds))
  }

  private static func text(_ value: JSONMembers.Value?, _ body: [UInt8], limit: Int) -> String? {
    guard case .string(let range)? = value, let text = JSONMembers.text(body, range),
      !text.isEmpty
    else { return nil }
    return TextSanitizer.clean(text, limit: limit)
  }
}
