import DemoUpstream
import FoundationEssentials
import Requests
import Session
import TestSupport
import Testing
import Tips

@testable import Upstream

/// B91, B200: bodies that were compressed on their way, and bombs among them.
@Suite(.timeLimit(.minutes(1)))
struct CompressedAnswerTests {
  /// `{"id":"…","title":"t","body":"x"}` as gzip and brotli have it.
  private static let gzip =
    "H4sIAAAAAAACA6tWykxRslJKV9JRKsksyUkFskuA7KT8lEogs0KpFgCGou5FIQAAAA=="
  private static let brotli = "CxCAeyJpZCI6ImIiLCJ0aXRsZSI6InQiLCJib2R5IjoieCJ9Aw=="
  /// 64 MiB of zeros.
  private static let brotliBomb =
    "z///f/gnAOKxQCD3/p/////wTwDEYQGA7v0/////4Z8AiMMiAN37f/7//8M/ARCHBQC69/8D"

  /// RFC 8878: a frame of one raw block, and a frame of many that each repeat one byte.
  private static func zstandard(_ text: String) -> [UInt8] {
    let bytes = Array(text.utf8)
    let header = UInt32(1 | bytes.count << 3)
    return frame + [UInt8(header & 255), UInt8(header >> 8 & 255), UInt8(header >> 16)] + bytes
  }

  private static func zstandardBomb(blocks: Int) -> [UInt8] {
    func block(isLast: Bool) -> [UInt8] {
      let header = UInt32(isLast ? 1 : 0) | 1 << 1 | UInt32(128 << 10) << 3
      return [UInt8(header & 255), UInt8(header >> 8 & 255), UInt8(header >> 16), 0]
    }
    return frame + (0..<blocks).flatMap { block(isLast: $0 == blocks - 1) }
  }

  /// The magic number, no options, a window of 128 KiB.
  private static let frame: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x38]

  private static func decoded(_ text: String) throws -> [UInt8] {
    [UInt8](try #require(Data(base64Encoded: text)))
  }

  private static func step(_ encoding: String, _ bytes: [UInt8]) -> Step {
    .respond(
      status: 200, headers: [("Content-Type", "application/json"), ("Content-Encoding", encoding)],
      bytes: bytes)
  }

  @Test func `a compressed tip is read whole, with a length and in chunks`() async throws {
    let bench = try await ServiceBench()
    let whole = [
      Self.step("gzip", try Self.decoded(Self.gzip)),
      Self.step("br", try Self.decoded(Self.brotli)),
      Self.step("zstd", Self.zstandard(#"{"id":"z","title":"t","body":"x"}"#)),
    ]
    for step in whole {
      bench.upstream.script(.get, "/tips/today", [step])
      #expect(try await bench.tip().get().cached.tip.body == "x")
    }
    let accepted = bench.upstream.log.last?.headers["accept-encoding"] ?? ""
    for encoding in ["gzip", "br", "zstd"] { #expect(accepted.contains(encoding)) }
    #expect(await bench.close() == 0)
  }

  @Test func `a compressed token answer is read whole`() async throws {
    let bench = try await ServiceBench()
    let text = #"{"access_token":"dummy-access-7","refresh_token":"dummy-refresh-7"}"#
    bench.upstream.script(.post, "/token", [Self.step("zstd", Self.zstandard(text))])
    #expect(try await bench.refresh().get().facts?.rotations == 1)
    #expect(bench.store.disk.refresh == "dummy-refresh-7")
    #expect(await bench.close() == 0)
  }

  @Test(arguments: ["gzip", "br", "zstd"])
  func `a bomb is stopped at the bound and nothing of it is kept`(encoding: String) async throws {
    let bench = try await ServiceBench()
    let bomb: Step =
      switch encoding {
      case "gzip": .gzipBomb(unpacked: 1 << 30)
      case "br": Self.step("br", try Self.decoded(Self.brotliBomb))
      default: Self.step("zstd", Self.zstandardBomb(blocks: 8192))
      }
    bench.upstream.script(.get, "/tips/today", [bomb])
    guard case .failure(.malformed) = await bench.tip() else {
      Issue.record("not malformed")
      return
    }
    bench.upstream.script(.post, "/token", [bomb])
    guard case .failure(.refreshFailed) = await bench.refresh() else {
      Issue.record("not a failed refresh")
      return
    }
    #expect(await bench.isSignedIn)
    #expect(bench.store.disk.tips.isEmpty)
    #expect(bench.store.disk.refresh == "dummy-refresh-0")
    #expect(await bench.close() == 0)
  }

  @Test func `an encoding that is broken or not known is malformed`() async throws {
    let bench = try await ServiceBench()
    for (encoding, text) in [("gzip", "{}"), ("br", "{{{{"), ("zstd", "{}"), ("rot13", "{}")] {
      bench.upstream.script(.get, "/tips/today", [Self.step(encoding, Array(text.utf8))])
      guard case .failure(.malformed) = await bench.tip() else {
        Issue.record("\(encoding) is not malformed")
        continue
      }
    }
    #expect(await bench.close() == 0)
  }
}
