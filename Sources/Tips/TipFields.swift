package import JSON
package import Requests

/// Where a tip's fields stand in the upstream's answer, and how one is read.
package struct TipFields: Sendable {
  package var id: JSONPointer
  package var title: JSONPointer
  package var body: JSONPointer
  package var date: JSONPointer
  package var tags: JSONPointer
  package var url: JSONPointer

  package init(
    id: JSONPointer, title: JSONPointer, body: JSONPointer, date: JSONPointer, tags: JSONPointer,
    url: JSONPointer
  ) {
    self.id = id
    self.title = title
    self.body = body
    self.date = date
    self.tags = tags
    self.url = url
  }

  /// Less than a Varlink client reads (32): in a reply a tip stands inside of other containers.
  private static let maxDepth = 24

  /// `id`, `title` and `body` are required; a field of another type than its own is left out, or,
  /// if it is required, makes the answer malformed. What has no name here goes to `extra`.
  package func read(_ bytes: [UInt8]) throws(RequestError) -> Tip {
    let root: JSONValue
    do throws(JSONError) {
      root = try JSONText.decode(JSONValue.self, from: bytes, maxDepth: Self.maxDepth)
    } catch {
      throw .malformed(reason: "the upstream's answer is not a tip: \(error.description)")
    }
    guard case .object(let members) = root else {
      throw .malformed(reason: "the upstream's answer is not a tip: not a JSON object")
    }
    guard let id = identifier(in: root), !id.isEmpty else { throw missing("id") }
    guard let title = title.value(in: root)?.string else { throw missing("title") }
    guard let body = body.value(in: root)?.string else { throw missing("body") }
    return Tip(
      id: id, date: date.value(in: root)?.string, title: title, body: body,
      tags: (tags.value(in: root)?.array ?? []).compactMap(\.string),
      url: url.value(in: root)?.string, extra: members.filter { !named.contains($0.key) })
  }

  private func identifier(in root: JSONValue) -> String? {
    switch id.value(in: root) {
    case .string(let text): text
    case .integer(let number): String(number)
    default: nil
    }
  }

  private func missing(_ field: String) -> RequestError {
    .malformed(reason: "the upstream's answer is not a tip: it has no \(field)")
  }

  /// The top-level members that a pointer of one segment takes; deeper ones leave their parent in
  /// `extra`, since other fields may stand in it.
  private var named: Set<String> {
    Set(
      [id, title, body, date, tags, url].compactMap {
        $0.segments.count == 1 ? $0.segments[0] : nil
      })
  }
}
