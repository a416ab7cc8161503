/// Where something in the configuration was said.
package enum Origin: Hashable, Sendable, CustomStringConvertible {
  /// Nobody said it.
  case fallback
  case line(file: String, line: Int)

  /// `/etc/brewlog/brewlogd.conf:12`, or `default`.
  package var description: String {
    switch self {
    case .fallback: "default"
    case .line(let file, let line): "\(file):\(line)"
    }
  }
}

/// All that is wrong with a configuration, so that it is put right in one go. Nothing starts on a
/// configuration with a problem in it.
package struct ConfigurationError: Error, Equatable, Sendable, CustomStringConvertible {
  /// One thing that is wrong. Its text is a line for people: what is there, and what would do.
  package struct Problem: Equatable, Sendable, CustomStringConvertible {
    /// Nil: it is not in a file (an environment variable, a directory that cannot be read).
    package var file: String?
    package var line: Int?
    package var key: String?
    package var message: String

    package var description: String {
      var place = ""
      if let file {
        place = file
        if let line { place += ":\(line)" }
        place += ": "
      }
      return place + (key.map { "\($0)=: " } ?? "") + message
    }
  }

  package var problems: [Problem]

  init(problems: [Problem]) {
    self.problems = problems
  }

  /// A configuration that is well-formed and cannot be used; found out by who tried.
  package init(unusable reason: String) {
    problems = [Problem(file: nil, line: nil, key: nil, message: reason)]
  }

  /// One line for each problem.
  package var description: String {
    problems.map(\.description).joined(separator: "\n")
  }
}

extension ConfigurationError.Problem {
  init(at origin: Origin, key: String? = nil, _ message: String) {
    self.key = key
    self.message = message
    if case .line(let file, let line) = origin {
      self.file = file
      self.line = line
    }
  }
}

/// A text out of a file as it may be shown: short, on one line, with nothing that a terminal obeys.
func quoted(_ text: some StringProtocol) -> String {
  var result = "\""
  for scalar in text.unicodeScalars.prefix(60) {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse:
      result += "\\u{\(String(scalar.value, radix: 16))}"
    default: result.unicodeScalars.append(scalar)
    }
  }
  return result + (text.unicodeScalars.count > 60 ? "…\"" : "\"")
}

/// A value as it may be shown: an URL's user and password are nobody's business. In `Proxy=` they
/// may stand without a scheme, too.
func shown(_ value: String, of name: KeyName) -> String {
  guard let at = value.lastIndex(of: "@") else { return value }
  let scheme = value.firstRange(of: "://")
  guard scheme != nil || name == UpstreamKeys.proxy.name else { return value }
  let start = scheme?.upperBound ?? value.startIndex
  guard start <= at else { return value }
  return String(value[..<start] + value[value.index(after: at)...])
}
