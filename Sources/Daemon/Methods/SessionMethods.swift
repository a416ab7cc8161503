import BrewlogAPI
import Configuration
import Execution
import JSON
import Platform
import Requests
import Secrets
import Session
import Tips
import Varlink

/// `org.brewlog.Session`.
extension MethodHandler {
  func status(_ parameters: inout ParameterReader) throws(VarlinkError) -> Answer {
    try parameters.finish()
    let (session, refreshes) = coordinator.assumeIsolated { ($0.snapshot(), $0.counters) }
    let requests = requester.assumeIsolated { $0.counters }
    let cache = cacheCounters
    return .now(
      encode(
        StatusReply(
          session: SnapshotMapping.snapshot(session),
          counters: Counters(
            refreshesStarted: refreshes.refreshesStarted,
            refreshesSucceeded: refreshes.refreshesSucceeded,
            refreshesFailed: refreshes.refreshesFailed,
            refreshWaitersJoined: refreshes.refreshWaitersJoined,
            lateResultsRejected: refreshes.lateResultsRejected,
            upstreamRequests: requests.upstreamRequests,
            requestsDeduplicated: requests.requestsDeduplicated, retries: requests.retries,
            cacheHits: cache.cacheHits, cacheMisses: cache.cacheMisses),
          login: logins.assumeIsolated { $0.attempt },
          pendingRevocations: revocations.assumeIsolated { $0.waiting })))
  }

  func inspect(_ parameters: inout ParameterReader) throws(VarlinkError) -> Answer {
    try parameters.finish()
    return .later {
      do throws(StoreError) {
        let (stored, session) = try await self.coordinator.inspect()
        return self.encode(
          InspectReply(
            persisted: SnapshotMapping.snapshot(stored),
            inMemory: SnapshotMapping.snapshot(session),
            consistent: SnapshotMapping.isConsistent(stored, session),
            store: SnapshotMapping.store(stored)))
      } catch {
        return .failure(ErrorMapping.map(error))
      }
    }
  }

  func refresh(_ parameters: inout ParameterReader) throws(VarlinkError) -> Answer {
    let seconds = try parameters.optionalInt("waitSeconds", in: 0...Int.max)
    try parameters.finish()
    let wait = seconds.map { Duration.seconds(min($0, Self.longestSeconds)) }
    return .later {
      let deadline = self.loop.now.advanced(by: wait ?? self.configuration.refresh.deadline)
      do throws(SessionError) {
        let session = try await self.coordinator.refresh(by: deadline)
        return self.encode(SessionReply(session: SnapshotMapping.snapshot(session)))
      } catch {
        return .failure(ErrorMapping.map(error))
      }
    }
  }

  func logout(
    _ parameters: inout ParameterReader, _ caller: Caller
  ) throws(VarlinkError) -> Answer {
    let revoke = try parameters.optionalBool("revoke") ?? true
    let expected = try generation(&parameters)
    try parameters.finish()
    return .later {
      do throws(LogoutError) {
        let receipt = try await self.coordinator.logout(
          revoke: revoke, ifGeneration: expected, actorUID: caller.peer.uid)
        await self.record()
        return self.encode(
          LogoutReply(
            previousGeneration: SnapshotMapping.number(receipt.previous),
            generation: SnapshotMapping.number(receipt.generation),
            revocation: SnapshotMapping.revocation(receipt.revocation)))
      } catch {
        return .failure(ErrorMapping.map(error))
      }
    }
  }

  func verifyErasure(_ parameters: inout ParameterReader) throws(VarlinkError) -> Answer {
    try parameters.finish()
    return .later {
      do throws(StoreError) {
        let findings = try await self.coordinator.store.verifyErasure()
        return self.encode(VerifyErasureReply(clean: findings.isEmpty, findings: findings))
      } catch {
        return .failure(ErrorMapping.map(error))
      }
    }
  }

  func resume(
    _ parameters: inout ParameterReader, _ caller: Caller
  ) throws(VarlinkError) -> Answer {
    try parameters.finish()
    return .later {
      do throws(SessionError) {
        let session = try await self.coordinator.resume(actorUID: caller.peer.uid)
        await self.record()
        return self.encode(SessionReply(session: SnapshotMapping.snapshot(session)))
      } catch {
        return .failure(ErrorMapping.mapChange(error))
      }
    }
  }

  func importCredentials(
    _ parameters: inout ParameterReader, _ caller: Caller
  ) throws(VarlinkError) -> Answer {
    let access = try token("accessToken", &parameters)
    let refresh = try token("refreshToken", &parameters)
    let lifetime = try parameters.optionalInt("expiresInSeconds")
    let account = try text("account", &parameters)
    let scope = try text("scope", &parameters)
    let expected = try generation(&parameters)
    try parameters.finish()
    if access == nil, refresh == nil { throw .invalidParameter("accessToken") }
    return .later {
      do throws(SessionError) {
        let imported = try ImportedCredentials(
          access: Self.secret(access), refresh: Self.secret(refresh),
          lifetime: Self.lifetime(lifetime), account: account, scope: scope)
        let session = try await self.coordinator.importCredentials(
          imported, ifGeneration: expected, actorUID: caller.peer.uid)
        await self.record()
        return self.encode(SessionReply(session: SnapshotMapping.snapshot(session)))
      } catch {
        return .failure(ErrorMapping.mapChange(error))
      }
    }
  }

  /// Before a caller is told that the session has begun, ended or goes on: from then on the history
  /// has it, whatever kills the daemon. A disk that is slow or full is not waited for.
  func record() async { await events.record(within: .seconds(1)) }

  /// A token is visible ASCII: anything else would break the header that it goes into.
  private func token(
    _ name: String, _ parameters: inout ParameterReader
  ) throws(VarlinkError) -> String? {
    guard let text = try parameters.optionalString(name) else { return nil }
    guard (1...16_384).contains(text.utf8.count),
      text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { throw .invalidParameter(name) }
    return text
  }

  private func text(
    _ name: String, _ parameters: inout ParameterReader
  ) throws(VarlinkError) -> String? {
    guard let text = try parameters.optionalString(name) else { return nil }
    guard (1...1024).contains(text.utf8.count), TextSanitizer.clean(text, limit: 1024) == text
    else {
      throw .invalidParameter(name)
    }
    return text
  }

  private static func secret(_ token: String?) throws(SessionError) -> Secret? {
    guard let token else { return nil }
    do throws(SecretError) {
      return try Secret(copying: Array(token.utf8))
    } catch {
      throw .storeFailed(reason: "no locked memory is left for a token; raise the memlock limit")
    }
  }

  /// As in a token answer: 0, less, or beyond a year is not known.
  private static func lifetime(_ seconds: Int?) -> Duration? {
    guard let seconds, (1...longestSeconds).contains(seconds) else { return nil }
    return .seconds(seconds)
  }

  private func generation(
    _ parameters: inout ParameterReader
  ) throws(VarlinkError) -> Generation? {
    try parameters.optionalInt("ifGeneration", in: 0...Int.max).map { Generation(UInt64($0)) }
  }
}
