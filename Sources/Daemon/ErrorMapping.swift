import BrewlogAPI
import Execution
import Session
import Tips
import Varlink

/// From the domain's errors to the contract's; nowhere else is a wire error made of one.
enum ErrorMapping {
  static func map(_ error: TipError) -> VarlinkError {
    switch error {
    case .signedOut(let generation, let reason):
      APIError.tipsSignedOut(generation: SnapshotMapping.number(generation), reason: reason)
        .varlinkError
    case .suspended(let reason): APIError.tipsSuspended(reason: reason).varlinkError
    case .unavailable(let reason, let status, let retryAfter):
      APIError.unavailable(
        reason: reason, httpStatus: status, retryAfterSeconds: retryAfter?.secondsRoundedUp
      ).varlinkError
    case .refused(let reason, let status):
      APIError.refused(reason: reason, httpStatus: status).varlinkError
    case .notFound(let id): APIError.notFound(id: id).varlinkError
    case .malformed(let reason): APIError.malformed(reason: reason).varlinkError
    case .invalidID: .invalidParameter("id")
    case .tooMany(let retryAfter):
      APIError.tooMany(retryAfterSeconds: retryAfter.secondsRoundedUp).varlinkError
    // Nobody reads it: the caller has left.
    case .cancelled:
      APIError.unavailable(reason: "the call was cancelled").varlinkError
    }
  }

  static func map(_ error: SessionError) -> VarlinkError {
    switch error {
    case .signedOut(let generation, let reason):
      APIError.signedOut(generation: SnapshotMapping.number(generation), reason: reason)
        .varlinkError
    case .suspended(let reason): APIError.suspended(reason: reason).varlinkError
    case .refreshFailed(let reason, _, let retryAfter):
      APIError.refreshFailed(reason: reason, retryAfterSeconds: retryAfter?.secondsRoundedUp)
        .varlinkError
    case .braked(let retryAfter):
      APIError.refreshFailed(
        reason: "the upstream rejects each new token of the session",
        retryAfterSeconds: retryAfter.secondsRoundedUp
      ).varlinkError
    case .storeFailed(let reason): APIError.storeFailed(reason: reason).varlinkError
    case .generationMoved(let generation):
      APIError.generationMoved(generation: SnapshotMapping.number(generation)).varlinkError
    case .spentToken(let reason): APIError.spentToken(reason: reason).varlinkError
    case .unusable: .invalidParameter("accessToken")
    case .timedOut:
      APIError.refreshFailed(
        reason: "the refresh goes on; it did not end within the wait"
      ).varlinkError
    case .cancelled: APIError.refreshFailed(reason: "the call was cancelled").varlinkError
    case .stopping: APIError.refreshFailed(reason: "the daemon is stopping").varlinkError
    }
  }

  /// Of a sign-in or a resume: what was to be stored was not, and nothing was to be refreshed.
  static func mapChange(_ error: SessionError) -> VarlinkError {
    switch error {
    case .stopping:
      APIError.storeFailed(reason: "the daemon is stopping").varlinkError
    default: map(error)
    }
  }

  static func map(_ error: LogoutError) -> VarlinkError {
    switch error {
    case .generationMoved(let generation):
      APIError.generationMoved(generation: SnapshotMapping.number(generation)).varlinkError
    case .notDurable(let failure):
      APIError.logoutNotDurable(
        generation: SnapshotMapping.number(failure.generation), reason: failure.reason
      ).varlinkError
    }
  }

  static func map(_ error: LoginError) -> VarlinkError {
    switch error {
    case .notConfigured(let missing): APIError.loginNotConfigured(missing: missing).varlinkError
    case .failed(let reason, let upstreamError):
      APIError.loginFailed(reason: reason, upstreamError: upstreamError).varlinkError
    case .noSuchLogin(let id): APIError.noSuchLogin(id: id).varlinkError
    case .session(let error): map(error)
    }
  }

  static func map(_ error: StoreError) -> VarlinkError {
    APIError.storeFailed(reason: error.reason).varlinkError
  }
}
