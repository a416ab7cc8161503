import JSON

/// What the doctor says about one thing that it looked at.
struct Finding: Equatable {
  enum Verdict: String {
    case ok
    case wrong
    /// Could not be looked at from here; `remedy` says from where.
    case skipped
  }

  var check: String
  var verdict: Verdict
  var detail: String
  var remedy: String?

  static func ok(_ check: String, _ detail: String) -> Finding {
    Finding(check: check, verdict: .ok, detail: detail)
  }

  static func wrong(_ check: String, _ detail: String, remedy: String?) -> Finding {
    Finding(check: check, verdict: .wrong, detail: detail, remedy: remedy)
  }

  static func skipped(_ check: String, _ detail: String, remedy: String? = nil) -> Finding {
    Finding(check: check, verdict: .skipped, detail: detail, remedy: remedy)
  }

  var json: JSONValue {
    var members: [String: JSONValue] = [
      "check": .string(check), "verdict": .string(verdict.rawValue), "detail": .string(detail),
    ]
    if let remedy { members["remedy"] = .string(remedy) }
    return .object(members)
  }
}
