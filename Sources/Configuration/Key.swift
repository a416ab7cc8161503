/// A key of the configuration: where it stands, how its value is written, what holds without it.
struct Key<Value: Sendable>: Sendable {
  let name: KeyName
  /// The default as one would write it; empty where there is none, or where it depends on the host.
  let fallbackText: String
  let fallback: Value
  let form: Form<Value>
  /// A list: several assignments add up, and an empty one empties it.
  var isList = false

  init(
    _ section: String, _ key: String, _ fallbackText: String, _ fallback: Value,
    _ form: Form<Value>
  ) {
    name = KeyName(section: section, key: key)
    self.fallbackText = fallbackText
    self.fallback = fallback
    self.form = form
  }
}

struct KeyName: Hashable, Sendable {
  var section: String
  var key: String
}

/// What is known of a key without its type: enough to check what stands in a file.
struct KeyDescription: Sendable {
  let name: KeyName
  let fallbackText: String
  let expectation: String
  let remark: @Sendable (String) -> String?
  let isWellFormed: @Sendable (String) -> Bool

  init<Value: Sendable>(_ key: Key<Value>) {
    name = key.name
    fallbackText = key.fallbackText
    expectation = key.form.expectation
    remark = key.form.remark
    isWellFormed = { [form = key.form] text in form.parse(text) != nil }
  }
}

extension Key {
  /// A key without a default.
  static func optional<Wrapped>(_ section: String, _ key: String, _ form: Form<Wrapped>) -> Key
  where Value == Wrapped? {
    Key(section, key, "", nil, form.optional)
  }
}
