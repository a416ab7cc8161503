/// Goes from assignments to values. Every assignment is checked, also one that a later one
/// overrides; problems are gathered, not thrown, so that all are reported at once.
struct SettingReader {
  private var assignments: [KeyName: [Assignment]] = [:]
  private(set) var settings: [EffectiveSetting] = []
  private(set) var problems: [ConfigurationError.Problem] = []

  /// The texts in their order: later assignments win.
  init(_ texts: [ConfigurationText]) {
    for text in texts {
      let earlier = problems.count
      problems += text.problems
      for section in text.sections where !KeyTable.sections.contains(section.name) {
        problems.append(
          .init(
            at: section.origin,
            "there is no section \(quoted("[\(section.name)]"))"
              + suggestion(section.name, KeyTable.sections) { "[\($0)]" }))
      }
      for assignment in text.assignments { check(assignment) }
      problems[earlier...].sort { ($0.line ?? 0) < ($1.line ?? 0) }
    }
  }

  private mutating func check(_ assignment: Assignment) {
    // A section that is not known has been reported with its header.
    guard KeyTable.sections.contains(assignment.section) else { return }
    let name = KeyName(section: assignment.section, key: assignment.key)
    guard let description = KeyTable.byName[name] else {
      problems.append(unknownKey(assignment))
      return
    }
    if !assignment.value.isEmpty, !description.isWellFormed(assignment.value) {
      let remark = description.remark(assignment.value).map { " (\($0))" } ?? ""
      problems.append(
        .init(
          at: assignment.origin, key: assignment.key,
          "\(quoted(shown(assignment.value, of: name))) is not \(description.expectation)\(remark)")
      )
    }
    assignments[name, default: []].append(assignment)
  }

  private func unknownKey(_ assignment: Assignment) -> ConfigurationError.Problem {
    let shown = String(quoted(assignment.key).dropFirst().dropLast())
    let homes = KeyTable.all.filter { $0.name.key == assignment.key }.map(\.name.section)
    if let home = homes.first {
      return .init(
        at: assignment.origin, key: shown,
        "there is no such key in [\(assignment.section)]; it belongs to [\(home)]")
    }
    let siblings = KeyTable.all.filter { $0.name.section == assignment.section }.map(\.name.key)
    return .init(
      at: assignment.origin, key: shown,
      "there is no such key in [\(assignment.section)]"
        + suggestion(assignment.key, siblings) { "\($0)=" })
  }

  private func suggestion(
    _ name: String, _ known: [String], _ show: (String) -> String
  ) -> String {
    Nearest.name(to: name, among: known).map { "; the nearest is \(show($0))" } ?? ""
  }

  // MARK: Values

  mutating func value<Value>(_ key: Key<Value>) -> Value {
    value(key, default: key.fallback, key.fallbackText)
  }

  /// The same with a default that depends on the host.
  mutating func value<Value>(
    _ key: Key<Value>, default fallback: Value, _ fallbackText: String
  ) -> Value {
    // The last one wins; an empty one takes back what was said before it.
    guard let last = assignments[key.name]?.last, !last.value.isEmpty,
      let value = key.form.parse(last.value)
    else {
      record(key.name, fallbackText, .fallback)
      return fallback
    }
    record(key.name, last.value, last.origin)
    return value
  }

  /// A list. Assigned empty at the end it is empty: it names nobody.
  mutating func list(
    _ key: Key<[String]>, default fallback: [String], _ fallbackText: String
  ) -> [String] {
    guard let all = assignments[key.name], let last = all.last else {
      record(key.name, fallbackText, .fallback)
      return fallback
    }
    let start = all.lastIndex { $0.value.isEmpty }.map { $0 + 1 } ?? 0
    let entries = all[start...].flatMap { key.form.parse($0.value) ?? [] }
    record(key.name, entries.joined(separator: " "), last.origin)
    return entries
  }

  func origin(_ name: KeyName) -> Origin {
    guard let last = assignments[name]?.last, !last.value.isEmpty else { return .fallback }
    return last.origin
  }

  func isSet(_ name: KeyName) -> Bool { origin(name) != .fallback }

  /// What is shown for a key whose value was decided by others.
  mutating func show(_ name: KeyName, _ value: String) {
    guard
      let index = settings.firstIndex(where: { $0.section == name.section && $0.key == name.key })
    else { return }
    settings[index].value = value
  }

  private mutating func record(_ name: KeyName, _ value: String, _ origin: Origin) {
    settings.append(
      EffectiveSetting(
        section: name.section, key: name.key, value: shown(value, of: name),
        origin: origin.description))
  }
}
