package import Varlink

/// Who may call a method. `open`: whoever can connect; `read`: those in `Read=` or `Control=`;
/// `control`: those in `Control=`. Root and the daemon's own user always may.
package enum AccessClass: String, Sendable {
  case open, read, control
}

/// The three interfaces of the contract.
package enum APIInterface: String, CaseIterable, Sendable {
  case tips = "org.brewlog.Tips"
  case session = "org.brewlog.Session"
  case service = "org.brewlog.Service"

  /// The interface's text as clients get it from `GetInterfaceDescription`.
  package var text: String {
    switch self {
    case .tips: String(decoding: PackageResources.org_brewlog_Tips_varlink, as: UTF8.self)
    case .session: String(decoding: PackageResources.org_brewlog_Session_varlink, as: UTF8.self)
    case .service: String(decoding: PackageResources.org_brewlog_Service_varlink, as: UTF8.self)
    }
  }
}

/// Every method of the contract. A switch over it makes a method that nobody answers a compile
/// error; a convention test holds it together with the interface texts.
package enum APIMethod: String, CaseIterable, Sendable {
  case today = "org.brewlog.Tips.Today"
  case get = "org.brewlog.Tips.Get"
  case list = "org.brewlog.Tips.List"
  case rate = "org.brewlog.Tips.Rate"
  case status = "org.brewlog.Session.Status"
  case inspect = "org.brewlog.Session.Inspect"
  case login = "org.brewlog.Session.Login"
  case completeLogin = "org.brewlog.Session.CompleteLogin"
  case cancelLogin = "org.brewlog.Session.CancelLogin"
  case importCredentials = "org.brewlog.Session.ImportCredentials"
  case refresh = "org.brewlog.Session.Refresh"
  case logout = "org.brewlog.Session.Logout"
  case resume = "org.brewlog.Session.Resume"
  case verifyErasure = "org.brewlog.Session.VerifyErasure"
  case explain = "org.brewlog.Session.Explain"
  case watch = "org.brewlog.Session.Watch"
  case history = "org.brewlog.Session.History"
  case health = "org.brewlog.Service.Health"
  case metrics = "org.brewlog.Service.Metrics"
  case configuration = "org.brewlog.Service.Configuration"
  case reload = "org.brewlog.Service.Reload"
  case canI = "org.brewlog.Service.CanI"

  package var access: AccessClass {
    switch self {
    case .canI: .open
    case .today, .get, .list, .rate, .status, .explain, .watch, .history, .health, .metrics: .read
    case .inspect, .login, .completeLogin, .cancelLogin, .importCredentials, .refresh, .logout,
      .resume, .verifyErasure, .configuration, .reload:
      .control
    }
  }

  /// Whether a call with `more` gets more than one reply.
  package var streams: Bool {
    switch self {
    case .today, .login, .watch: true
    default: false
    }
  }

  package var interface: APIInterface {
    APIInterface.allCases.first { rawValue.hasPrefix($0.rawValue + ".") } ?? .service
  }
}

/// What the daemon hands to its Varlink server, and how it finds a method by its name.
package enum MethodTable {
  package static var interfaces: [InterfaceDescription] {
    APIInterface.allCases.map { InterfaceDescription(name: $0.rawValue, text: $0.text) }
  }

  package static func method(named name: String) -> APIMethod? {
    APIMethod(rawValue: name)
  }
}
