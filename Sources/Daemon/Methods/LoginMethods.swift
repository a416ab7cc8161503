import BrewlogAPI
import Platform
import Session
import Varlink

/// Signing in: `Login`, `CompleteLogin` and `CancelLogin` of `org.brewlog.Session`.
extension MethodHandler {
  func login(
    _ parameters: inout ParameterReader, _ call: Call, _ caller: Caller
  ) throws(VarlinkError) -> Answer {
    let flow = try parameters.optionalString("flow").map(LoginFlow.init(name:))
    if case .unknown = flow { throw .invalidParameter("flow") }
    try parameters.finish()
    let (logins, uid) = (logins, caller.peer.uid)
    guard call.more else {
      return .later {
        switch await logins.begin(flow: flow, uid: uid) {
        case .success(let attempt): self.encode(LoginReply(attempt: attempt))
        case .failure(let error): .failure(ErrorMapping.map(error))
        }
      }
    }
    return .stream { stream in
      let attempt: LoginAttempt
      switch await logins.begin(flow: flow, uid: uid) {
      case .success(let begun): attempt = begun
      case .failure(let error): return .failure(ErrorMapping.map(error))
      }
      if case .success(let bytes) = self.encode(LoginReply(attempt: attempt)) {
        // A client that does not read is gone; the attempt is not.
        try? stream.send(bytes)
      }
      return self.reply(await logins.end(of: attempt.id)) { LoginReply(session: $0) }
    }
  }

  func completeLogin(_ parameters: inout ParameterReader) throws(VarlinkError) -> Answer {
    let id = try parameters.string("id")
    let address = try parameters.string("redirectedTo")
    try parameters.finish()
    return .later {
      self.reply(await self.logins.complete(id, with: address)) { SessionReply(session: $0) }
    }
  }

  func cancelLogin(_ parameters: inout ParameterReader) throws(VarlinkError) -> Answer {
    let id = try parameters.string("id")
    try parameters.finish()
    return .later {
      await self.logins.cancel(id)
        ? self.encode(EmptyReply())
        : .failure(ErrorMapping.map(LoginError.noSuchLogin(id: id)))
    }
  }

  private func reply(
    _ outcome: Result<SessionSnapshot, LoginError>,
    _ make: (Snapshot) -> some Encodable
  ) -> Reply {
    switch outcome {
    case .success(let session): encode(make(SnapshotMapping.snapshot(session)))
    case .failure(let error): .failure(ErrorMapping.map(error))
    }
  }
}
