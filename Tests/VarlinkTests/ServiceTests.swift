import JSON
import Platform
import TestSupport
import Testing
import Varlink

@Suite(.timeLimit(.minutes(1)))
struct ServiceTests {
  @Test func `GetInfo names all interfaces in order`() async throws {
    let fixture = try await ServerFixture { _, _ in .now(success()) }
    var client = try VarlinkClient(connectingTo: fixture.path)
    let info = try client.call("org.varlink.service.GetInfo", timeout: .seconds(10))
    #expect(
      info == [
        "vendor": "Example", "product": "test", "version": "1", "url": "https://example.org",
        "interfaces": ["org.example.Test", "org.varlink.service"],
      ])
    await fixture.close()
  }

  @Test func `descriptions are the texts themselves`() async throws {
    let fixture = try await ServerFixture { _, _ in .now(success()) }
    var client = try VarlinkClient(connectingTo: fixture.path)
    let method = "org.varlink.service.GetInterfaceDescription"
    let own = try client.call(method, ["interface": "org.example.Test"], timeout: .seconds(10))
    #expect(own["description"]?.string == ServerFixture.interface.text)
    let service = try client.call(
      method, ["interface": "org.varlink.service"], timeout: .seconds(10))
    let text = try #require(service["description"]?.string)
    #expect(
      InterfaceDescription(name: "org.varlink.service", text: text).methods
        == ["GetInfo", "GetInterfaceDescription"])
    await fixture.close()
  }

  @Test(
    arguments: [
      ("org.varlink.service.GetInterfaceDescription", [:], .invalidParameter("interface")),
      (
        "org.varlink.service.GetInterfaceDescription", ["interface": 1],
        .invalidParameter("interface")
      ),
      (
        "org.varlink.service.GetInterfaceDescription", ["interface": "a.b"],
        .interfaceNotFound("a.b")
      ),
      (
        "org.varlink.service.GetInterfaceDescription", ["interface": "a.b", "x": 1],
        .invalidParameter("x")
      ),
      ("org.varlink.service.GetInfo", ["x": 1], .invalidParameter("x")),
      ("org.varlink.service.Nothing", [:], .methodNotFound("org.varlink.service.Nothing")),
      ("org.example.Test.Nothing", [:], .methodNotFound("org.example.Test.Nothing")),
      ("org.example.Test.now", [:], .methodNotFound("org.example.Test.now")),
      ("org.example.Other.Now", [:], .interfaceNotFound("org.example.Other")),
      ("org.example.Test.", [:], .methodNotFound("org.example.Test.")),
      (".", [:], .interfaceNotFound("")),
      ("gibberish", [:], .methodNotFound("gibberish")),
      ("", [:], .methodNotFound("")),
    ] as [(String, [String: JSONValue], VarlinkError)])
  func `what is not there is refused by name`(
    method: String, parameters: [String: JSONValue], error: VarlinkError
  ) async throws {
    let fixture = try await ServerFixture { _, _ in .now(success()) }
    var client = try VarlinkClient(connectingTo: fixture.path)
    var failure: ClientError?
    do throws(ClientError) {
      _ = try client.call(method, parameters, timeout: .seconds(10))
    } catch {
      failure = error
    }
    #expect(failure == .failure(error))
    // And goes on.
    #expect(try client.call("org.example.Test.Now", timeout: .seconds(10)) == [:])
    await fixture.close()
  }
}
