/// How a person signs in.
package enum LoginFlow: OpenName {
  case device, browser
  case unknown(String)

  package static let known: [LoginFlow] = [.device, .browser]

  package var name: String {
    switch self {
    case .device: "device"
    case .browser: "browser"
    case .unknown(let name): name
    }
  }
}

/// What a person types, and where (RFC 8628, section 3.2).
package struct DevicePrompt: Codable, Hashable, Sendable {
  package var verificationUri: String
  package var verificationUriComplete: String?
  package var userCode: String

  package init(verificationUri: String, verificationUriComplete: String? = nil, userCode: String) {
    self.verificationUri = verificationUri
    self.verificationUriComplete = verificationUriComplete
    self.userCode = userCode
  }
}

/// A sign-in that is under way: by the device flow, or by a browser that is sent to
/// `authorizeUri`.
package struct LoginAttempt: Codable, Hashable, Sendable {
  package var id: String
  package var flow: LoginFlow
  package var device: DevicePrompt?
  package var authorizeUri: String?
  package var expiresAt: String
  package var startedByUid: Int

  package init(
    id: String, flow: LoginFlow, device: DevicePrompt? = nil, authorizeUri: String? = nil,
    expiresAt: String, startedByUid: Int
  ) {
    self.id = id
    self.flow = flow
    self.device = device
    self.authorizeUri = authorizeUri
    self.expiresAt = expiresAt
    self.startedByUid = startedByUid
  }
}
