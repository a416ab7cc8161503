import Requests
import Session
import Tips

/// A call that may have been answered `SignedOut`, by whatever layer it was made.
protocol Answered {
  var isSignedOut: Bool { get }
}

extension Pending: Answered {
  var isSignedOut: Bool {
    if case .signedOut = error(SessionError.self) { return true }
    if case .session(.signedOut) = error(RequestError.self) { return true }
    if case .signedOut = error(TipError.self) { return true }
    return false
  }
}
