import Glibc
import JSON

/// Tips and their ratings.
extension Service {
  func tipOfTheDay(_ request: Request) -> Answer {
    let today = options.today ?? Self.hostDate()
    return present(DemoTip.ofTheDay(today), date: today, request)
  }

  func tip(_ id: String, _ request: Request) -> Answer {
    guard let tip = DemoTip.all.first(where: { $0.id == id }) else {
      return .failure(404, "there is no such tip")
    }
    return present(tip, date: nil, request)
  }

  /// `Idempotency-Key`: the same key counts once and gets the first answer again; with another
  /// rating it is refused.
  mutating func rate(_ id: String, _ request: Request) -> Answer {
    guard DemoTip.all.contains(where: { $0.id == id }) else {
      return .failure(404, "there is no such tip")
    }
    guard let value = try? JSONText.decode(JSONValue.self, from: request.body),
      let rating = value["rating"]?.integer, (1...5).contains(rating)
    else {
      return .failure(400, "rating must be a whole number from 1 to 5")
    }
    guard ratings.add(Int(rating), to: id, key: request.headers["idempotency-key"]) else {
      return .failure(422, "this Idempotency-Key came with another rating")
    }
    let all = ratings.of(id)
    return .json([
      "id": .string(id), "rating": .integer(rating), "ratings": .integer(Int64(all.count)),
    ])
  }

  private func present(_ tip: DemoTip, date: String?, _ request: Request) -> Answer {
    var members: [String: JSONValue] = [
      "id": .string(tip.id), "title": .string(tip.title), "body": .string(tip.body),
      "tags": .array(tip.tags.map { .string($0) }), "drink": .string(tip.drink.rawValue),
    ]
    members["date"] = date.map { .string($0) }
    var answer = Answer.json(.object(members))
    let tag = "\"\(Self.digest(answer.body))\""
    var fields = [("ETag", tag)]
    if let cacheControl = options.cacheControl { fields.append(("Cache-Control", cacheControl)) }
    if let known = request.headers["if-none-match"], Self.matches(known, tag) {
      return Answer(304, fields)
    }
    answer.fields += fields.map { Answer.Field(name: $0.0, value: $0.1) }
    return answer
  }

  /// RFC 9110 section 13.1.2, with the weak comparison.
  private static func matches(_ list: String, _ tag: String) -> Bool {
    list.split(separator: ",").contains { element in
      var text = element.drop { $0 == " " }
      while text.last == " " { text.removeLast() }
      if text.hasPrefix("W/") { text = text.dropFirst(2) }
      return text == "*" || text == tag
    }
  }

  /// FNV-1a, 64 bits: equal bodies have equal tags, that is all it is for.
  private static func digest(_ bytes: [UInt8]) -> String {
    let hash = bytes.reduce(UInt64(0xCBF2_9CE4_8422_2325)) {
      ($0 ^ UInt64($1)) &* 0x100_0000_01B3
    }
    return String(hash, radix: 16)
  }

  private static func hostDate() -> String {
    var now = time(nil)
    var parts = tm()
    localtime_r(&now, &parts)
    func padded(_ number: Int32) -> String { number < 10 ? "0\(number)" : String(number) }
    return "\(parts.tm_year + 1900)-\(padded(parts.tm_mon + 1))-\(padded(parts.tm_mday))"
  }
}

/// The ratings that came in, and the keys they came with.
struct RatingBook: Sendable {
  private struct Keyed: Hashable {
    var id: String
    var key: String
  }

  private var values: [String: [Int]] = [:]
  private var keys: [Keyed: Int] = [:]

  func of(_ id: String) -> [Int] { values[id] ?? [] }

  /// False: the key is known with another rating.
  mutating func add(_ rating: Int, to id: String, key: String?) -> Bool {
    if let key {
      let keyed = Keyed(id: id, key: key)
      if let earlier = keys[keyed] { return earlier == rating }
      keys[keyed] = rating
    }
    values[id, default: []].append(rating)
    return true
  }
}
