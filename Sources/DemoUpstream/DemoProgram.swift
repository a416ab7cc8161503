import Glibc

/// `brewlog-demo-upstream`: the demo upstream as a program.
package enum DemoProgram {
  private static let help = """
    brewlog-demo-upstream [--port N] [--access-ttl SECONDS] [--log FILE]

    An HTTP API on 127.0.0.1 that serves brewing tips to one account, to try brewlog with.
      --port N              the port; without it, any free one
      --access-ttl SECONDS  how long an access token lasts that a refresh brings (3600)
      --log FILE            appends the access log to FILE, too

    The account starts with the access token dummy-access-0, which has expired, and the refresh
    token dummy-refresh-0, which is good. Every refresh replaces both.

      GET  /tips/today, /tips/{id}   a tip, with ETag
      POST /tips/{id}/rating         {"rating": 1..5}, Idempotency-Key
      POST /auth/refresh             {"refreshToken": "…"} (Dialect=simple)
      POST /token, /revoke           RFC 6749, RFC 7009 (Dialect=oauth2)
      POST /device_authorization     RFC 8628; a person decides at GET /device
      GET  /authorize                authorization code with PKCE; agrees at once
      GET  /.well-known/…            metadata: oauth-authorization-server, openid-configuration

    Standard output: "listening on http://127.0.0.1:PORT", then one line a request, such as
    "GET /tips/today 401". It runs until SIGINT or SIGTERM.

    """

  /// Runs until a signal ends it; returns the exit code (0, 64 usage, 73 port or file).
  package static func run(_ arguments: [String]) -> Int32 {
    let parsed: ProgramArguments
    do {
      parsed = try ProgramArguments(arguments)
    } catch {
      write("brewlog-demo-upstream: \(error.message)\n", to: STDERR_FILENO)
      return 64
    }
    if parsed.wantsHelp {
      write(help, to: STDOUT_FILENO)
      return 0
    }
    return serve(parsed)
  }

  private static func serve(_ arguments: ProgramArguments) -> Int32 {
    // Blocked before any thread starts, so that every thread leaves them to `sigwait`.
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGINT)
    sigaddset(&signals, SIGTERM)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    signal(SIGPIPE, SIG_IGN)

    var file: Int32 = -1
    if let path = arguments.logFile {
      file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
      if file < 0 {
        let reason = String(cString: strerror(errno))
        write("brewlog-demo-upstream: cannot open \(path): \(reason)\n", to: STDERR_FILENO)
        return 73
      }
    }
    defer { if file >= 0 { close(file) } }

    do {
      let upstream = try DemoUpstream(options(arguments, file))
      // The first line, since no request can come before the port is known.
      write("listening on \(upstream.baseURL)\n", to: STDOUT_FILENO)
      var caught: Int32 = 0
      sigwait(&signals, &caught)
      upstream.close()
      return 0
    } catch {
      write("brewlog-demo-upstream: \(error)\n", to: STDERR_FILENO)
      return 73
    }
  }

  private static func options(_ arguments: ProgramArguments, _ file: Int32) -> DemoOptions {
    var options = DemoOptions()
    options.port = arguments.port
    options.accessLifetime = arguments.accessLifetime
    options.startsExpired = true
    options.onLine = { line in
      write(line + "\n", to: STDOUT_FILENO)
      if file >= 0 { write(line + "\n", to: file) }
    }
    return options
  }

  private static func write(_ text: String, to descriptor: Int32) {
    let bytes = Array(text.utf8)
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.write(descriptor, $0.baseAddress, $0.count)
      }
      if count < 0 && errno != EINTR { return }
      sent += max(0, count)
    }
  }
}
