import Daemon
import Execution
import Glibc
import Platform
import Secrets
import Session

/// The daemon as it ships, but for the token endpoint.
func serveWithStuckRefreshes() -> Never {
  BrewlogDaemon.main(decorating: { StuckEndpoint(endpoint: $0) })
}

/// While the file is there, a refresh neither ends nor heeds its deadline: what a lost continuation in
/// the coordinator's task would do. The loop and the store go on.
struct StuckEndpoint: TokenEndpoint {
  private static let file = "/run/brewlog-stuck"
  private static let held = Locked<[CheckedContinuation<Void, Never>]>([])

  let endpoint: any TokenEndpoint

  var binding: UpstreamBinding { endpoint.binding }

  func refresh(
    with refreshToken: consuming Secret?, deadline: Instant
  ) async throws(RefreshFailure) -> GrantedTokens {
    if access(Self.file, F_OK) == 0 {
      await withCheckedContinuation { continuation in
        Self.held.withLock { $0.append(continuation) }
      }
    }
    return try await endpoint.refresh(with: refreshToken, deadline: deadline)
  }
}
