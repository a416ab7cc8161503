import BrewlogAPI
import JSON

/// What `login --token-stdin` reads. No error of it repeats anything of the input (I10).
enum TokenInput {
  static let maxBytes = 64 * 1024

  private static let remedy =
    "Give {\"accessToken\":…,\"refreshToken\":…,\"expiresInSeconds\":…,\"account\":…,\"scope\":…} "
    + "or a bare refresh token."

  static func parameters(_ bytes: [UInt8]) throws(CommandFailure) -> [String: JSONValue] {
    guard bytes.count <= maxBytes else {
      throw refused("standard input holds more than \(maxBytes / 1024) KiB")
    }
    let trimmed = trim(bytes[...])
    guard let first = trimmed.first else { throw refused("standard input is empty") }
    if first == UInt8(ascii: "{") { return try members(trimmed) }
    guard isToken(trimmed) else {
      throw refused("standard input is neither a JSON object nor one token")
    }
    return ["refreshToken": .string(String(decoding: trimmed, as: UTF8.self))]
  }

  private static func members(
    _ bytes: ArraySlice<UInt8>
  ) throws(CommandFailure) -> [String: JSONValue] {
    let given: [String: JSONValue]
    do throws(JSONError) {
      given = try JSONText.decode([String: JSONValue].self, from: bytes)
    } catch {
      throw refused("standard input is not valid JSON")
    }
    var taken: [String: JSONValue] = [:]
    for (name, value) in given where value != .null {
      switch (name, value) {
      case ("accessToken", .string(let token)), ("refreshToken", .string(let token)):
        guard isToken(Array(token.utf8)[...]) else {
          throw refused("\"\(name)\" is empty or holds characters that no token has")
        }
      case ("expiresInSeconds", .integer(let seconds)) where seconds >= 0: break
      case ("account", .string), ("scope", .string): break
      case ("accessToken", _), ("refreshToken", _), ("expiresInSeconds", _), ("account", _),
        ("scope", _):
        throw refused("\"\(name)\" has a value of another type than it should")
      default:
        // Its name is not repeated: it may be a token in the wrong place.
        throw refused("the JSON object has a member that is not known")
      }
      taken[name] = value
    }
    guard taken["accessToken"] != nil || taken["refreshToken"] != nil else {
      throw refused("the JSON object holds neither \"accessToken\" nor \"refreshToken\"")
    }
    return taken
  }

  /// Visible ASCII characters, as RFC 6749 (appendix A) has them; a space would be two tokens.
  private static func isToken(_ bytes: ArraySlice<UInt8>) -> Bool {
    !bytes.isEmpty && bytes.allSatisfy { (0x21...0x7E).contains($0) }
  }

  private static func trim(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let isSpace: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0D).contains($0) }
    var kept = bytes.drop(while: isSpace)
    while let last = kept.last, isSpace(last) { kept.removeLast() }
    return kept
  }

  private static func refused(_ problem: String) -> CommandFailure {
    CommandFailure(.usage, problem, remedy: remedy)
  }
}
