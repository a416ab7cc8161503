import DemoUpstream
import JSON
import Requests
import TestSupport
import Testing
import Tips

@testable import Upstream

/// Another API's tip by configuration alone: paths and JSON pointers.
@Suite(.timeLimit(.minutes(1)))
struct OtherAPITests {
  private func serve(
    _ body: String, fields: TipFields, path: String = "/advice"
  ) async throws -> Result<TipEntry, TipError> {
    let bench = try await ServiceBench(fields: fields, paths: TipPaths(today: path))
    bench.upstream.always(.get, path, .json(body))
    let result = await bench.tip()
    #expect(await bench.close() == 0)
    return result
  }

  /// A title is required; where an API has none, its text serves as one.
  @Test func `an API with one text has it as title and as body`() async throws {
    let fields = try TipFields.of(id: "/slip/id", title: "/slip/advice", body: "/slip/advice")
    let tip = try await serve(
      #"{"slip":{"id":1,"advice":"Rinse the filter."}}"#, fields: fields
    ).get().cached.tip
    #expect(tip.id == "1")
    #expect(tip.title == "Rinse the filter.")
    #expect(tip.body == "Rinse the filter.")
    #expect(tip.date == nil && tip.url == nil && tip.tags.isEmpty)
    #expect(tip.extra["slip"]?["id"] == 1)
  }

  @Test func `pointers go into arrays and through escapes`() async throws {
    let fields = try TipFields.of(id: "/0/~1id", title: "/0/a~0b", body: "/1")
    let result = try await serve(#"[{"/id":"x","a~b":"t"},"b"]"#, fields: fields)
    // A tip is an object.
    guard case .failure(.malformed) = result else {
      Issue.record("\(result)")
      return
    }
    let nested = try TipFields.of(
      id: "/data/0/~1id", title: "/data/0/a~0b", body: "/data/1")
    let tip = try await serve(
      #"{"data":[{"/id":"x","a~b":"t"},"b"]}"#, fields: nested
    ).get().cached.tip
    #expect([tip.id, tip.title, tip.body] == ["x", "t", "b"])
  }

  @Test(arguments: [
    "{}", #"{"slip":null}"#, #"{"slip":{"id":1}}"#, #"{"slip":{"advice":"x"}}"#,
    #"{"slip":{"id":1,"advice":2}}"#, #"{"slip":[{"id":1,"advice":"x"}]}"#,
    #"{"message":{"type":"error","text":"nothing found"}}"#,
  ])
  func `what the pointers do not find makes the answer malformed`(body: String) async throws {
    let fields = try TipFields.of(id: "/slip/id", title: "/slip/advice", body: "/slip/advice")
    guard case .failure(.malformed) = try await serve(body, fields: fields) else {
      Issue.record("not malformed")
      return
    }
  }
}
