import Configuration
import Testing

@testable import Daemon

@Suite(.timeLimit(.minutes(1)))
struct ConfigurationChangeTests {
  private func load(_ text: String) throws -> DaemonConfiguration {
    let source = ConfigurationSource(file: "/c", environment: [:])
    let files = ConfigurationFiles(
      read: { _ in .bytes(Array("[Upstream]\nBaseURL=https://a.example\n\(text)".utf8)) },
      list: { _ in .missing })
    return try DaemonConfiguration.load(from: source, files: files)
  }

  @Test func `what changed is told with its old value`() throws {
    let change = ConfigurationChange(
      from: try load(""), to: try load("[Cache]\nFreshFor=1min\n"))
    #expect(change.changed.map(\.key) == ["FreshFor"])
    #expect(change.previous == ["15min"])
    #expect(change.deferred.isEmpty)
    #expect(change.inForce.cache.freshFor == .seconds(60))
  }

  @Test(arguments: [
    "[Store]\nDirectory=/elsewhere\n", "[Store]\nKeyFile=/key\n", "[Store]\nOnMove=continue\n",
    "[Socket]\nPath=/run/other.sock\n",
  ])
  func `store and socket path wait for a restart, and the old ones stay shown`(
    text: String
  ) throws {
    let old = try load("")
    let change = ConfigurationChange(from: old, to: try load(text))
    #expect(change.changed.isEmpty)
    #expect(change.deferred.contains { $0.origin.contains("at the next restart") })
    #expect(change.inForce.store == old.store)
    #expect(change.inForce.socket == old.socket)
    #expect(change.inForce.settings == old.settings)
  }

  @Test func `a socket's mode needs no restart`() throws {
    let change = ConfigurationChange(
      from: try load(""), to: try load("[Socket]\nMode=0600\n"))
    #expect(change.changed.map(\.key) == ["Mode"])
    #expect(change.inForce.socket.mode == 0o600)
  }

  @Test func `nothing new is no change`() throws {
    let change = ConfigurationChange(from: try load(""), to: try load(""))
    #expect(change.changed.isEmpty && change.deferred.isEmpty)
  }
}
