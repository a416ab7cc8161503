import Glibc
import Requests
import TestSupport
import Testing

@testable import Upstream

/// Against `openssl s_server`, where the host has it: an independent peer.
@Suite(.timeLimit(.minutes(1)), .enabled(if: TLSServer.isAvailable))
struct TransportTLSTests {
  private func get(
    _ server: TLSServer, host: String = "localhost", trusting: Bool = true
  ) async throws -> Result<HTTPResponse, TransportError> {
    let fixture = try UpstreamFixture { if trusting { $0.caFile = server.certificate } }
    let request = HTTPRequest(method: .get, url: "https://\(host):\(server.port)/")
    let result = await fixture.send(request, bearer: "dummy-access-0")
    #expect(await fixture.close() == 0)
    return result
  }

  @Test func `a certificate of a trusted authority is taken`() async throws {
    let server = try TLSServer(["-tls1_2"])
    #expect(try await get(server).status == 200)
  }

  @Test func `a certificate that nobody vouches for is forbidden`() async throws {
    let server = try TLSServer([])
    let result = try await get(server, trusting: false)
    #expect(result.kind == .forbidden)
    #expect(result.reason.contains("https://localhost:\(server.port)"))
  }

  @Test func `a certificate for another name is forbidden`() async throws {
    let server = try TLSServer([])
    #expect(try await get(server, host: "127.0.0.1").kind == .forbidden)
  }

  @Test func `TLS below 1.2 is forbidden`() async throws {
    let server = try TLSServer(["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"])
    #expect(try await get(server).kind == .forbidden)
  }
}

/// One server with a certificate for `localhost`, made for one test.
final class TLSServer {
  private static let program = "/usr/bin/openssl"
  static let isAvailable = access(program, X_OK) == 0

  let certificate: String
  let port: UInt16
  private let scratch: ScratchDirectory
  private let child: ChildProcess

  init(_ options: [String]) throws {
    scratch = try ScratchDirectory()
    certificate = scratch.path("certificate.pem")
    let key = scratch.path("key.pem")
    let maker = try ChildProcess.start(
      TLSServer.program,
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
        "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
        "-keyout", key, "-out", certificate,
      ], environment: [:])
    #expect(maker.wait() == .exited(0), "\(maker.standardError)")
    child = try ChildProcess.start(
      TLSServer.program,
      ["s_server", "-accept", "127.0.0.1:0", "-cert", certificate, "-key", key, "-www"] + options,
      environment: [:])
    try #require(child.waitForOutput("ACCEPT 127.0.0.1:"), "\(child.standardError)")
    let line = child.standardOutput.split(separator: "ACCEPT 127.0.0.1:")
    port = try #require(line.last.flatMap { UInt16($0.prefix { $0.isNumber }) })
  }
}
