package import BrewlogAPI
import Glibc
import JSON
import Platform
package import Varlink

extension CommandContext {
  /// What a failed call means to the person who made it: exit code, cause, remedy. The one place
  /// where errors of the contract turn into words.
  package func explain(_ error: ClientError, calling method: APIMethod) -> CommandFailure {
    switch error {
    case .unreachable(let path, let code): return explainUnreachable(path, code)
    case .timedOut:
      return CommandFailure(
        .unreachable, "brewlogd at \(place.path) did not answer in time",
        remedy: "Look at what it is doing: journalctl -u brewlogd -n 50")
    case .connectionClosed:
      return CommandFailure(
        .unreachable, "brewlogd at \(place.path) ended the connection before it had answered",
        remedy: "It may have been stopped; look at: journalctl -u brewlogd -n 50")
    case .protocolViolation(let detail):
      return CommandFailure(
        .failed, "what answers at \(place.path) does not speak the daemon's protocol: \(detail)",
        remedy: "Check that --socket names brewlogd's socket.")
    case .failure(let error): return explain(error, calling: method)
    }
  }

  private func explainUnreachable(_ path: String, _ code: Int32) -> CommandFailure {
    let reason = SystemError.text(of: code)
    if code == EACCES || code == EPERM {
      return CommandFailure(
        .permissionDenied, "you may not connect to brewlogd at \(path): \(reason)",
        remedy: accessRemedy(environment.groupOfFile(path) ?? "brewlog"))
    }
    if code == ECONNREFUSED, case .success(let facts) = FileFacts.of(path),
      facts.kind == .file || facts.kind == .directory
    {
      return CommandFailure(
        .unreachable, "brewlogd cannot be reached at \(path): that is no socket",
        remedy: "Name brewlogd's socket with --socket.")
    }
    let remedy =
      place.startCommand.map { "Start it: \($0)" }
      ?? "Start brewlogd with this socket, or name another one with --socket."
    return CommandFailure(
      .unreachable, "brewlogd cannot be reached at \(path): \(reason)", remedy: remedy)
  }

  /// Nobody is told to join root's group: that would open far more than a socket.
  private func accessRemedy(_ group: String) -> String {
    if place.isOwn { return "It is the daemon of one user; only that user may connect." }
    if group == "root" {
      return "Only root may. Call it with sudo, or set Group= in [Socket] of brewlogd.conf."
    }
    return
      "Members of the group \"\(group)\" may: sudo usermod -aG \(group) \"$USER\", then log in "
      + "to this host again."
  }

  private func explain(_ error: VarlinkError, calling method: APIMethod) -> CommandFailure {
    switch APIError(error) {
    case .signedOut(_, let reason), .tipsSignedOut(_, let reason):
      return CommandFailure(
        .noSession, "signed out" + because(reason), remedy: "Sign in: brewlogctl login")
    case .suspended(let reason), .tipsSuspended(let reason):
      return CommandFailure(
        .noSession, "the session is suspended" + because(reason),
        remedy: "If that is as it should be: brewlogctl resume. Otherwise: brewlogctl logout")
    case .unavailable(let reason, let status, let retryAfter):
      return CommandFailure(
        .unavailable,
        "no tip can be had just now" + because(reason)
          + (status.map { " (HTTP \($0))" } ?? ""),
        remedy: arguments.has("--cache-only")
          ? "Let it be fetched: call it without --cache-only."
          : retry(retryAfter) ?? "See what is wrong: brewlogctl health")
    case .refused(let reason, let status):
      return CommandFailure(
        .failed, "the upstream refused the request (HTTP \(status))" + because(reason),
        remedy: "The session is valid; the account may lack a right. See: brewlogctl explain")
    case .notFound(let id):
      return CommandFailure(
        .failed, "there is no tip \"\(id)\"", remedy: "See the cached ones: brewlogctl tips")
    case .malformed(let reason):
      return CommandFailure(
        .failed, "the upstream answered with something that is not a tip" + because(reason),
        remedy: "Compare the field pointers of [Upstream] with its answer: brewlogctl config")
    case .tooMany(let retryAfter):
      return CommandFailure(
        .failed, "you have asked for more than your share of upstream requests",
        remedy: retry(retryAfter))
    case .tooSlow(let last):
      return CommandFailure(
        .failed, "events came faster than they were read",
        remedy: "Go on where it ended: brewlogctl watch --after \(last)")
    case .tipsTooSlow:
      return CommandFailure(.failed, "tips came faster than they were read", remedy: "Ask again.")
    case .invalidConfiguration(let file, let line, let reason):
      return CommandFailure(
        .failed, "the configuration is not valid, \(file):\(line): \(reason)",
        remedy: "Correct it and reload again; until then the old one stays in force.")
    case .other(let error): return explainService(error, calling: method)
    case let known: return explainSession(known)
    }
  }

  private func explainSession(_ error: APIError) -> CommandFailure {
    switch error {
    case .loginFailed(let reason, let upstream):
      CommandFailure(
        .failed,
        "the sign-in failed" + because(reason)
          + (upstream.map { reason.contains($0) ? "" : " (\($0))" } ?? ""),
        remedy: "Try again: brewlogctl login")
    case .loginNotConfigured(let missing):
      CommandFailure(
        .failed, "signing in is not configured; missing: \(missing.joined(separator: ", "))",
        remedy:
          "Set it in brewlogd.conf and reload, or bring a token: brewlogctl login --token-stdin"
      )
    case .noSuchLogin(let id):
      CommandFailure(
        .failed, "no sign-in \"\(id)\" is under way", remedy: "Start one: brewlogctl login")
    case .refreshFailed(let reason, let retryAfter):
      CommandFailure(
        .failed, "the refresh failed" + because(reason),
        remedy: retry(retryAfter) ?? "See why: brewlogctl explain")
    case .generationMoved(let generation):
      CommandFailure(
        .failed, "the session has changed meanwhile (generation \(generation) now)",
        remedy: "Look at it: brewlogctl status")
    case .spentToken(let reason):
      CommandFailure(
        .failed, "this refresh token has been used up" + because(reason),
        remedy: "Bring a new one; a spent token would sign the account out.")
    case .logoutNotDurable(_, let reason):
      CommandFailure(
        .logoutNotDurable,
        "signed out, but what is on disk could not be destroyed yet" + because(reason),
        remedy: "The daemon goes on trying; see: brewlogctl health")
    case .storeFailed(let reason):
      CommandFailure(
        .failed, "the daemon could not write its store" + because(reason),
        remedy: "The session is as it was. See: brewlogctl health")
    default:
      CommandFailure(.failed, "the daemon answered \(error.varlinkError.name)")
    }
  }

  private func explainService(_ error: VarlinkError, calling method: APIMethod) -> CommandFailure {
    switch error.name {
    case "org.varlink.service.PermissionDenied":
      CommandFailure(
        .permissionDenied, "the daemon does not let you call \(method.rawValue)",
        remedy: "See by which rule, and what would allow it: brewlogctl can-i \(method.rawValue)")
    case "org.varlink.service.MethodNotImplemented":
      CommandFailure(
        .failed, "this brewlogd does not offer \(method.rawValue) yet",
        remedy: method == .login
          ? "Bring a token instead: brewlogctl login --token-stdin < FILE"
          : "Nothing was changed. A later version of the daemon will do it.")
    case "org.varlink.service.MethodNotFound", "org.varlink.service.InterfaceNotFound":
      CommandFailure(
        .failed, "what answers at \(place.path) does not know \(method.rawValue)",
        remedy: "It is older than this brewlogctl, or not brewlogd: check the socket's path.")
    case "org.varlink.service.InvalidParameter":
      CommandFailure(
        .usage,
        "the daemon does not take the value of "
          + (error.parameters["parameter"]?.string ?? "a parameter"),
        remedy: arguments.command.map { "How it is used: brewlogctl \($0.name) --help" })
    default:
      CommandFailure(
        .failed, "the daemon answered \(error.name)",
        remedy: "This brewlogctl does not know that error; it may be older than the daemon.")
    }
  }

  private func because(_ reason: String) -> String { reason.isEmpty ? "" : ": " + reason }

  private func retry(_ seconds: Int?) -> String? {
    seconds.map { "Try again in \(Words.span($0))." }
  }
}
