import BrewlogAPI
import FoundationEssentials
import JSON
import Testing
import Varlink

@testable import Daemon

/// Every method's parameters, through the handler that the daemon has.
@Suite(.timeLimit(.minutes(1)))
struct ParameterTests {
  private static let missing: [APIMethod: [String: JSONValue]] = [
    .get: ["id": "t"], .rate: ["id": "t", "rating": 3],
    .completeLogin: ["id": "i", "redirectedTo": "r"],
    .cancelLogin: ["id": "i"], .importCredentials: ["accessToken": "dummy-access-0"],
    .canI: ["method": "org.brewlog.Session.Logout"],
  ]

  @Test func `an unknown parameter is refused by its name in every method`() async throws {
    let fixture = try await GraphFixture()
    for method in APIMethod.allCases {
      var parameters = Self.missing[method] ?? [:]
      parameters["ifGenration"] = 1
      parameters["zzz"] = 1
      let reply = await fixture.reply(to: method.rawValue, parameters, more: method.streams)
      guard case .failure(let error) = reply else {
        Issue.record("\(method): \(String(describing: reply))")
        continue
      }
      if error.name == "org.varlink.service.MethodNotImplemented" { continue }
      #expect(error == .invalidParameter("ifGenration"), "\(method)")
    }
    await fixture.close()
  }

  @Test func `a null is an absent parameter, a known one or not`() async throws {
    let fixture = try await GraphFixture()
    let parameters: [String: JSONValue] = ["limit": nil, "zzz": nil]
    let reply = await fixture.reply(to: APIMethod.history.rawValue, parameters)
    guard case .success = reply else {
      Issue.record("\(String(describing: reply))")
      return
    }
    await fixture.close()
  }

  struct Bad: Sendable {
    let method: APIMethod
    let parameter: String
    let value: JSONValue

    init(_ method: APIMethod, _ parameter: String, _ value: JSONValue) {
      self.method = method
      self.parameter = parameter
      self.value = value
    }
  }

  private static let huge = JSONValue.decimal(1e30)

  static let bad: [Bad] =
    [
      (APIMethod.today, "maxAgeSeconds"), (.today, "waitSeconds"), (.get, "maxAgeSeconds"),
      (.get, "waitSeconds"), (.rate, "waitSeconds"), (.refresh, "waitSeconds"),
      (.logout, "ifGeneration"), (.importCredentials, "ifGeneration"), (.watch, "afterSequence"),
      (.list, "limit"), (.history, "limit"), (.rate, "rating"),
    ].flatMap { method, name in
      ([-1, .integer(.min), huge, "1", .decimal(1.5), true, [1], [:]] as [JSONValue])
        .map { Bad(method, name, $0) }
    } + [
      Bad(.list, "limit", 0), Bad(.list, "limit", 1001), Bad(.history, "limit", 1001),
      Bad(.rate, "rating", 0), Bad(.rate, "rating", 6), Bad(.today, "cacheOnly", 1),
      Bad(.logout, "revoke", "no"), Bad(.get, "id", ""), Bad(.get, "id", ".."),
      Bad(.get, "id", "."),
      Bad(.get, "id", "a\u{0}b"), Bad(.get, "id", "a\nb"), Bad(.get, "id", "\u{7F}"),
      Bad(.get, "id", .string(String(repeating: "x", count: 257))), Bad(.rate, "id", "\u{1}"),
      Bad(.rate, "id", "."), Bad(.importCredentials, "accessToken", ""),
      Bad(.importCredentials, "accessToken", "a b"), Bad(.importCredentials, "accessToken", "ä"),
      Bad(.importCredentials, "refreshToken", "a\r\nX: y"),
      Bad(.importCredentials, "account", "a\u{1B}[2J"), Bad(.importCredentials, "account", ""),
      Bad(.importCredentials, "expiresInSeconds", "60"),
      Bad(.canI, "method", "org.brewlog.No.Such"),
      Bad(.canI, "method", 1),
    ]

  @Test func `what is out of range or of another type is refused by its name`() async throws {
    let fixture = try await GraphFixture()
    for bad in Self.bad {
      var parameters = Self.missing[bad.method] ?? [:]
      parameters[bad.parameter] = bad.value
      let reply = await fixture.reply(
        to: bad.method.rawValue, parameters, more: bad.method.streams)
      #expect(
        reply == .failure(.invalidParameter(bad.parameter)),
        "\(bad.method) \(bad.parameter)=\(bad.value): \(String(describing: reply))")
    }
    await fixture.close()
  }

  @Test func `the largest numbers that are taken overflow nothing`() async throws {
    let fixture = try await GraphFixture()
    let most = JSONValue.integer(.max)
    let calls: [(APIMethod, [String: JSONValue])] = [
      (.today, ["maxAgeSeconds": most, "waitSeconds": most]),
      (.get, ["id": .string(String(repeating: "x", count: 256)), "maxAgeSeconds": most]),
      (.refresh, ["waitSeconds": most]), (.logout, ["ifGeneration": most]),
      (.rate, ["id": "t", "rating": 5, "waitSeconds": most]),
      (.list, ["limit": 1000, "before": ""]),
      (
        .importCredentials,
        [
          "refreshToken": "dummy-refresh-0", "ifGeneration": most,
          "expiresInSeconds": most,
        ]
      ),
    ]
    for (method, parameters) in calls {
      var client = try fixture.connect()
      // Signed out: each has an error of its own, and the daemon lives.
      do throws(ClientError) {
        _ = try client.call(method.rawValue, parameters, timeout: .seconds(30))
      } catch {
        guard case .failure(let failure) = error else {
          Issue.record("\(method): \(error)")
          continue
        }
        #expect(failure.name.hasPrefix("org.brewlog.") || failure == .invalidParameter("before"))
      }
    }
    await fixture.close()
  }

  @Test(arguments: APIMethod.allCases)
  func `who is not allowed gets PermissionDenied whatever the parameters`(
    method: APIMethod
  ) async throws {
    let fixture = try await GraphFixture("[Access]\nRead=1001\nControl=1002\n")
    let nonsense: [String: JSONValue] = ["zzz": 1]
    let reply = await fixture.reply(to: method.rawValue, nonsense, uid: 1003)
    if method.access == .open {
      #expect(reply == .failure(.invalidParameter("method")))
      #expect(!fixture.log.contains { $0.contains("refused") })
    } else {
      #expect(reply == .failure(.permissionDenied))
      let lines = fixture.log.filter { $0.contains("refused \(method.rawValue) to uid 1003") }
      #expect(lines.count == 1)
      #expect(lines.first?.contains("pid 4242") == true)
    }
    await fixture.close()
  }
}
