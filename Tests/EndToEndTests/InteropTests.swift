import BrewlogAPI
import DemoUpstream
import FoundationEssentials
import JSON
import TestSupport
import Testing

extension EndToEnd {
  /// A Varlink client that nobody here wrote, before the real daemon.
  @Suite(.timeLimit(.minutes(2)))
  struct InteropTests {
    private static let package = "varlink==31.0.0"

    @Test func `the Python package varlink understands every interface and calls it`() async throws
    {
      let python = try environmentWithPackage()
      try await Stage.run(Stage.expired) { stage in
        let child = try ChildProcess.start(
          python, [Self.script, stage.daemon.socket], environment: Programs.environment)
        try #require(child.wait() == .exited(0), "\(child.standardError)")
        let seen = try JSONText.decode(JSONValue.self, from: child.standardOutput.utf8)

        #expect(seen["product"] == "brewlogd")
        let served = seen["interfaces"]?.array ?? []
        for interface in APIInterface.allCases {
          #expect(served.contains(.string(interface.rawValue)))
          #expect(seen["descriptions"]?[interface.rawValue]?.string == interface.text)
        }
        #expect(seen["signedOut"]?["error"] == "org.brewlog.Tips.SignedOut")
        #expect(seen["signedOut"]?["parameters"]?["reason"]?.string != nil)
        #expect(seen["notFound"]?["error"] == "org.brewlog.Tips.NotFound")
        #expect(seen["notFound"]?["parameters"]?["id"] == "no-such-tip")
        expectReplies(seen)
        #expect(
          stage.upstream.lines == [
            "GET /tips/today 401", "POST /auth/refresh 200", "GET /tips/today 200",
            "GET /tips/bloom 200", "GET /tips/no-such-tip 404",
          ])
      }
    }

    private func expectReplies(_ seen: JSONValue) {
      #expect(seen["today"]?["provenance"]?["source"] == "network")
      #expect(seen["get"]?["tip"]?["id"] == "bloom")
      #expect(seen["list"]?["entries"]?.array?.count == 2)
      #expect(seen["status"]?["session"]?["state"] == "signedIn")
      #expect(seen["status"]?["counters"]?["refreshesSucceeded"] == 1)
      #expect(seen["inspect"]?["consistent"] == true)
      #expect(seen["health"]?["ready"] == true)
      #expect(seen["logout"]?["generation"]?.integer != nil)
    }

    /// Beside this file.
    private static let script: String = {
      let parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
      return parts.dropLast().joined(separator: "/") + "/Interop/introspect.py"
    }()

    /// An interpreter that has the package, in an environment that is kept with what was built. The
    /// test is skipped, with the reason, where it cannot be made: without Python, or offline.
    private func environmentWithPackage() throws -> String {
      let daemon = try Programs.path("brewlogd")
      let home =
        daemon.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        .joined(separator: "/") + "/varlink-client"
      let python = home + "/bin/python3"
      // pip may need the host's proxy and its own settings.
      let environment = ProcessInfo.processInfo.environment
      if try run(python, ["-c", "import varlink"], [:]).succeeded { return python }
      guard let system = interpreter(environment["PATH"] ?? "/usr/bin:/bin") else {
        try Test.cancel("there is no python3 (Debian: python3, python3-venv)")
      }
      let made = try run(system, ["-m", "venv", "--clear", home], environment)
      guard made.succeeded else {
        try Test.cancel("python3 -m venv failed (Debian: python3-venv): \(made.lastLine)")
      }
      let installed = try run(
        python,
        [
          "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1",
          "--timeout", "15", Self.package,
        ], environment)
      guard installed.succeeded else {
        try Test.cancel("pip could not install \(Self.package): \(installed.lastLine)")
      }
      return python
    }

    private func interpreter(_ path: String) -> String? {
      path.split(separator: ":").map { $0 + "/python3" }
        .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    private func run(
      _ program: String, _ arguments: [String], _ environment: [String: String]
    ) throws -> (succeeded: Bool, lastLine: String) {
      guard FileManager.default.isExecutableFile(atPath: program) else {
        return (false, "\(program) is missing")
      }
      let child = try ChildProcess.start(program, arguments, environment: environment)
      let status = child.wait(atMost: .seconds(60))
      let lines = (child.standardOutput + child.standardError).split(separator: "\n")
      return (status == .exited(0), lines.last.map(String.init) ?? "")
    }
  }
}
