/// What is under way at the authorization server: device codes and authorization codes. They are
/// numbered and guessable, as the tokens are; good for tests and nothing else.
struct Authorizations: Sendable {
  typealias Instant = ContinuousClock.Instant

  enum Decision: Sendable, Equatable { case pending, approved, denied }

  struct Device: Sendable {
    let deviceCode: String
    let userCode: String
    let expiry: Instant
    var interval: Duration
    var lastPoll: Instant?
    var decision = Decision.pending
  }

  struct Code: Sendable {
    let text: String
    let redirectURI: String
    let challenge: String
    let clientID: String
  }

  private(set) var devices: [Device] = []
  private var codes: [Code] = []
  private var issued = 0

  mutating func addDevice(lifetime: Duration, interval: Duration, now: Instant) -> Device {
    issued += 1
    let device = Device(
      deviceCode: "dummy-device-\(issued)", userCode: "BREW-\(1000 + issued)",
      expiry: now.advanced(by: lifetime), interval: interval)
    devices.append(device)
    return device
  }

  /// False: there is no such code that waits for a decision.
  mutating func decide(_ userCode: String, _ decision: Decision, now: Instant) -> Bool {
    let wanted = Self.normalized(userCode)
    guard
      let index = devices.firstIndex(where: {
        Self.normalized($0.userCode) == wanted && $0.expiry > now && $0.decision == .pending
      })
    else { return false }
    devices[index].decision = decision
    return true
  }

  enum Poll: Equatable { case granted, error(String) }

  /// RFC 8628 section 3.5. A grant, a refusal and the end of the code each use it up.
  mutating func poll(_ deviceCode: String, strict: Bool, now: Instant) -> Poll {
    guard let index = devices.firstIndex(where: { $0.deviceCode == deviceCode }) else {
      return .error("invalid_grant")
    }
    let device = devices[index]
    if now >= device.expiry {
      devices.remove(at: index)
      return .error("expired_token")
    }
    devices[index].lastPoll = now
    if strict, let last = device.lastPoll, now < last.advanced(by: device.interval) {
      devices[index].interval += .seconds(5)
      return .error("slow_down")
    }
    switch device.decision {
    case .pending: return .error("authorization_pending")
    case .denied:
      devices.remove(at: index)
      return .error("access_denied")
    case .approved:
      devices.remove(at: index)
      return .granted
    }
  }

  mutating func addCode(redirectURI: String, challenge: String, clientID: String) -> String {
    issued += 1
    let text = "dummy-code-\(issued)"
    codes.append(
      Code(text: text, redirectURI: redirectURI, challenge: challenge, clientID: clientID))
    return text
  }

  /// A code is used up by whoever presents it, rightly or not.
  mutating func takeCode(_ text: String) -> Code? {
    guard let index = codes.firstIndex(where: { $0.text == text }) else { return nil }
    return codes.remove(at: index)
  }

  /// People type codes in small letters and without the dash.
  private static func normalized(_ code: String) -> String {
    code.uppercased().filter { $0.isLetter || $0.isNumber }
  }
}
