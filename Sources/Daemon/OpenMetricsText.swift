/// Writes the OpenMetrics text format, version 1.0: families with type, unit and help, then their
/// samples, then the end mark. A value.
struct OpenMetricsText {
  private(set) var text = ""

  /// A count that only grows; the family's name is without `_total`.
  mutating func counter(
    _ name: String, _ help: String, _ samples: [(labels: [Label], value: Int)]
  ) {
    begin(name, "counter", nil, help)
    for sample in samples { line(name + "_total", sample.labels, "\(sample.value)") }
  }

  mutating func gauge(
    _ name: String, unit: String? = nil, _ help: String,
    _ samples: [(labels: [Label], value: Double)]
  ) {
    begin(name, "gauge", unit, help)
    for sample in samples { line(name, sample.labels, Self.number(sample.value)) }
  }

  mutating func histogram(
    _ name: String, unit: String, _ help: String, _ samples: [(labels: [Label], value: Histogram)]
  ) {
    begin(name, "histogram", unit, help)
    for (labels, value) in samples {
      var total = 0
      for (bound, count) in zip(value.bounds, value.counts) {
        total += count
        line(name + "_bucket", labels + [Label("le", Self.number(bound))], "\(total)")
      }
      line(name + "_bucket", labels + [Label("le", "+Inf")], "\(value.count)")
      line(name + "_count", labels, "\(value.count)")
      line(name + "_sum", labels, Self.number(value.sum))
    }
  }

  mutating func info(_ name: String, _ help: String, _ labels: [Label]) {
    begin(name, "info", nil, help)
    line(name + "_info", labels, "1")
  }

  /// A thing's state among those that it can have: one of them is 1.
  mutating func stateSet(_ name: String, _ help: String, _ states: [String], present: String) {
    begin(name, "stateset", nil, help)
    for state in states { line(name, [Label(name, state)], state == present ? "1" : "0") }
  }

  func finished() -> String { text + "# EOF\n" }

  struct Label: Sendable {
    var name: String
    var value: String

    init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  private mutating func begin(_ name: String, _ type: String, _ unit: String?, _ help: String) {
    text += "# TYPE \(name) \(type)\n"
    if let unit { text += "# UNIT \(name) \(unit)\n" }
    text += "# HELP \(name) \(Self.escaped(help))\n"
  }

  private mutating func line(_ name: String, _ labels: [Label], _ value: String) {
    let list = labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }.joined(separator: ",")
    text += labels.isEmpty ? "\(name) \(value)\n" : "\(name){\(list)} \(value)\n"
  }

  private static func number(_ value: Double) -> String {
    // Whole numbers, as bounds too, with their `.0`: that is the form the specification wants.
    "\(value)"
  }

  private static func escaped(_ text: String) -> String {
    var result = ""
    for character in text {
      switch character {
      case "\\": result += "\\\\"
      case "\"": result += "\\\""
      case "\n": result += "\\n"
      default: result.append(character)
      }
    }
    return result
  }
}
