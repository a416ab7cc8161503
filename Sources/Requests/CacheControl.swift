package import Execution

/// What an answer's header fields allow a cache (RFC 9111, sections 4.2 and 5.2; RFC 5861). The
/// cache is private: it serves one account.
package struct CacheControl: Equatable, Sendable {
  /// Nil: it must not be kept (`no-store`).
  package var lifetime: Duration?
  /// Whether the lifetime is the upstream's own word; else the configuration's.
  package var isExplicit: Bool
  /// How long past its lifetime it may be served on an error; nil: the configuration decides.
  package var staleIfError: Duration?
  /// How long past its lifetime it may be served while it is asked for again.
  package var staleWhileRevalidate: Duration

  /// Values beyond a year are cut to it.
  private static let longest: Int64 = 366 * 86_400

  package init(_ response: HTTPResponse, silent fallback: Duration, now: WallTime) {
    let directives = Self.directives(in: response)
    let forbidsStale = directives["must-revalidate"] != nil || directives["no-cache"] != nil
    staleIfError =
      forbidsStale ? .zero : directives["stale-if-error"].flatMap(Self.seconds)
    staleWhileRevalidate =
      forbidsStale ? .zero : directives["stale-while-revalidate"].flatMap(Self.seconds) ?? .zero
    isExplicit = true
    if directives["no-store"] != nil {
      lifetime = nil
    } else if directives["no-cache"] != nil || Self.variesByAll(response) {
      lifetime = .zero
    } else if let age = directives["max-age"] {
      // One that cannot be read is treated as stale (section 4.2.1).
      lifetime = Self.rest(of: Self.seconds(age) ?? .zero, response)
    } else if let expires = response.field("Expires") {
      let date = response.field("Date").flatMap { HTTPDate.parse($0, now: now) } ?? now
      let span = HTTPDate.parse(expires, now: now).map { date.duration(to: $0) } ?? .zero
      lifetime = Self.rest(of: min(max(.zero, span), .seconds(Self.longest)), response)
    } else {
      lifetime = fallback
      isExplicit = false
    }
  }

  /// What `Age` says has passed already.
  private static func rest(of span: Duration, _ response: HTTPResponse) -> Duration {
    let age = response.field("Age").flatMap { seconds($0) } ?? .zero
    return max(.zero, span - age)
  }

  /// Whole seconds; what cannot be read is nil, what is too large is the longest.
  private static func seconds(_ text: String) -> Duration? {
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return .seconds(min(Int64(text) ?? longest, longest))
  }

  /// `Vary: *` can match no later request; the other fields are the same in all of ours.
  private static func variesByAll(_ response: HTTPResponse) -> Bool {
    response.fields.contains { field in
      field.name.lowercased() == "vary"
        && field.value.split(separator: ",").contains { $0.filter { $0 != " " } == "*" }
    }
  }

  private static func directives(in response: HTTPResponse) -> [String: String] {
    var directives: [String: String] = [:]
    for field in response.fields where field.name.lowercased() == "cache-control" {
      for part in field.value.split(separator: ",") {
        let pair = part.split(separator: "=", maxSplits: 1).map {
          $0.lowercased().filter { $0 != " " && $0 != "\"" && $0 != "\t" }
        }
        guard let name = pair.first else { continue }
        directives[name] = pair.count > 1 ? pair[1] : ""
      }
    }
    return directives
  }
}
