import BrewlogAPI
import DemoUpstream
import FoundationEssentials
import Glibc
import TestSupport
import Testing

extension EndToEnd {
  /// What an endless body costs the daemon.
  @Suite(.timeLimit(.minutes(2)))
  struct LargeBodyTests {
    /// Memory of a process in KiB, by a line of `/proc/PID/status`.
    private static func memory(_ line: String, of process: Int32) throws -> Int {
      let bytes = try #require(FileManager.default.contents(atPath: "/proc/\(process)/status"))
      let text = String(decoding: bytes, as: UTF8.self)
      let found = text.split(separator: "\n").first { $0.hasPrefix(line + ":") }
      let words = try #require(found).split(whereSeparator: \.isWhitespace)
      return try #require(Int(words[1]))
    }

    /// The highest mark begins anew: proc(5), clear_refs.
    private static func forgetPeak(of process: Int32) {
      let file = fopen("/proc/\(process)/clear_refs", "w")
      guard let file else { return }
      fputs("5", file)
      fclose(file)
    }

    /// RFC 8878: a frame that asks for a window of 128 MiB, and 8192 blocks that each stand for
    /// 128 KiB of one byte.
    private static var zstandardBomb: Step {
      var bytes: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0x00, 17 << 3]
      for number in 0..<8192 {
        let header = UInt32(number == 8191 ? 1 : 0) | 1 << 1 | UInt32(128 << 10) << 3
        bytes += [UInt8(header & 255), UInt8(header >> 8 & 255), UInt8(header >> 16), 0x20]
      }
      return .respond(
        status: 200,
        headers: [("Content-Type", "application/json"), ("Content-Encoding", "zstd")],
        bytes: bytes)
    }

    /// B200, and I10's neighbour: nothing of it is kept, either.
    @Test(arguments: ["plain", "chunked", "gzip", "zstd"])
    func `a body of 1 GiB costs no more memory than the bound`(kind: String) async throws {
      let body: Step =
        switch kind {
        case "plain": .stream(byteCount: 1 << 30)
        case "chunked": .stream(byteCount: 1 << 30, chunked: true)
        case "zstd": Self.zstandardBomb
        default: .gzipBomb(unpacked: 1 << 30)
        }
      try await Stage.run(DemoOptions(), ["Cache": ["FreshFor=0"]]) { stage in
        let daemon = stage.daemon
        try stage.signIn()
        // What the first requests of all kinds cost once.
        _ = try daemon.today()
        stage.upstream.script(.get, Stage.todayPath, [body])
        _ = try daemon.today()
        let process = try daemon.process.pid
        let before = try Self.memory("RssAnon", of: process)
        let resident = try Self.memory("VmRSS", of: process)
        Self.forgetPeak(of: process)
        for _ in 0..<5 {
          stage.upstream.script(.get, Stage.todayPath, [body])
          let reply = try daemon.today()
          #expect(reply.provenance.stale)
        }
        stage.upstream.script(.post, Stage.refreshPath, [body])
        guard case .refreshFailed = try daemon.outcome(.refresh).error else {
          Issue.record("not RefreshFailed")
          return
        }
        // `MaxBodyBytes` is 1 MiB: an array that grows to it may stand there twice.
        let bound = 4 << 10
        let peak = try Self.memory("VmHWM", of: process)
        #expect(try Self.memory("RssAnon", of: process) - before < bound)
        #expect(peak - resident < bound)
        #expect(try daemon.status().session.state == .signedIn)
      }
    }
  }
}
