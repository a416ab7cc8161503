import BrewlogAPI
import Execution
import Platform
import Session
import Upstream

/// The two ways to sign in.
extension LoginCoordinator {
  /// How long the authorization server may take for one answer.
  private static var answerLimit: Duration { .seconds(30) }
  /// How long a person has for the browser flow.
  private static var browserLimit: Duration { .seconds(600) }

  func run(
    _ id: String, _ flow: LoginFlow?, _ grant: TokenGrant, _ port: UInt16,
    _ generation: Generation, _ uid: UInt32
  ) async {
    do throws(LoginError) {
      let session = try await signIn(id, flow, grant, port, generation, uid)
      finish(id, .success(session))
    } catch {
      finish(id, .failure(error))
    }
  }

  private func signIn(
    _ id: String, _ flow: LoginFlow?, _ grant: TokenGrant, _ port: UInt16,
    _ generation: Generation, _ uid: UInt32
  ) async throws(LoginError) -> SessionSnapshot {
    let tokens: GrantedTokens
    do throws(GrantFailure) {
      switch try await choose(flow, grant) {
      case .device: tokens = try await device(id, grant, uid)
      case .browser: tokens = try await browser(id, grant, port, uid)
      }
    } catch {
      throw .failed(reason: error.reason, upstreamError: error.upstreamError)
    }
    do throws(SessionError) {
      // The grant may have come in the very moment in which it was cancelled.
      if Task.isCancelled { throw SessionError.cancelled }
      return try await coordinator.signIn(tokens, since: generation, actorUID: uid)
    } catch {
      if error == .cancelled { throw .cancelled }
      throw .session(error)
    }
  }

  private enum Way { case device, browser }

  /// Without a wish: device, or browser where there is no device endpoint.
  private func choose(_ flow: LoginFlow?, _ grant: TokenGrant) async throws(GrantFailure) -> Way {
    switch flow {
    case .device: return .device
    case .browser: return .browser
    default:
      guard let discovery = grants.present.discovery else { return .device }
      let endpoints = try await discovery.endpoints(
        deadline: loop.now.advanced(by: Self.answerLimit))
      return endpoints.deviceAuthorization == nil && endpoints.authorization != nil
        ? .browser : .device
    }
  }

  private func device(
    _ id: String, _ grant: TokenGrant, _ uid: UInt32
  ) async throws(GrantFailure) -> GrantedTokens {
    let flow = DeviceGrant(grant: grant)
    let authorization = try await flow.begin(deadline: loop.now.advanced(by: Self.answerLimit))
    let prompt = authorization.prompt
    show(
      LoginAttempt(
        id: id, flow: .device,
        device: BrewlogAPI.DevicePrompt(
          verificationUri: prompt.verificationURI,
          verificationUriComplete: prompt.verificationURIComplete, userCode: prompt.userCode),
        expiresAt: wallTime(of: authorization.expiresAt), startedByUid: Int(uid)))
    return try await flow.wait(for: authorization)
  }

  private func browser(
    _ id: String, _ grant: TokenGrant, _ port: UInt16, _ uid: UInt32
  ) async throws(GrantFailure) -> GrantedTokens {
    let redirect: LoopbackRedirect
    do throws(SystemError) {
      redirect = try LoopbackRedirect(loop: loop, port: port)
    } catch {
      throw GrantFailure(
        .unavailable, reason: "no port on 127.0.0.1 for the browser: \(error.description)")
    }
    let flow = AuthorizationCodeGrant(grant: grant)
    let expiry = loop.now.advanced(by: Self.browserLimit)
    do throws(GrantFailure) {
      let attempt = try await flow.begin(
        redirectURI: redirect.redirectURI, deadline: loop.now.advanced(by: Self.answerLimit))
      let isAnswer = attempt.isAnswer
      show(
        LoginAttempt(
          id: id, flow: .browser, authorizeUri: attempt.authorizeURI,
          expiresAt: wallTime(of: expiry), startedByUid: Int(uid)), isAnswer: isAnswer)
      let listening = Task(executorPreference: loop) {
        let address = await redirect.wait(until: expiry, for: isAnswer)
        await self.deliver(address, to: id)
      }
      let address = await address(for: id)
      listening.cancel()
      guard let address else {
        throw GrantFailure(
          Task.isCancelled ? .cancelled : .expired,
          reason: Task.isCancelled
            ? "the sign-in was cancelled" : "nobody signed in in time; begin again")
      }
      let code = try flow.code(from: address, for: attempt)
      let tokens = try await flow.exchange(
        code, for: attempt, deadline: loop.now.advanced(by: Self.answerLimit))
      await redirect.close()
      return tokens
    } catch {
      await redirect.close()
      throw error
    }
  }

  private func wallTime(of moment: Instant) -> String {
    Timestamps.text(loop.wallTime.advanced(by: loop.now.duration(to: moment)))
  }
}
