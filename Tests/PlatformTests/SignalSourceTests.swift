import Glibc
import Platform
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct SignalSourceTests {
  /// The signals go to the loop's own thread, which blocks them: the others of this process do not.
  @Test func `a signal arrives on the loop as an event, until the source is cancelled`()
    async throws
  {
    let thread = try LoopThread()
    let loop = thread.loop
    let seen = Recorder<Int32>(on: loop)
    let source = try await thread.run {
      let source = try SignalSource(loop: loop, signals: [SIGUSR1, SIGUSR2]) { seen.noteHere($0) }
      pthread_kill(pthread_self(), SIGUSR1)
      pthread_kill(pthread_self(), SIGUSR2)
      return source
    }
    for _ in 0..<5 { await thread.run {} }
    #expect(await seen.entries == [SIGUSR1, SIGUSR2])
    await thread.run {
      source.cancel()
      source.cancel()
      pthread_kill(pthread_self(), SIGUSR1)
    }
    for _ in 0..<5 { await thread.run {} }
    #expect(await seen.entries.count == 2)
  }
}

@Suite(.timeLimit(.minutes(1)))
struct ProcessHardeningTests {
  @Test func `a hardened process dumps no core, makes private files and outlives a closed pipe`()
    async
  {
    await #expect(processExitsWith: .success) {
      try ProcessHardening.apply()
      let scratch = try ScratchDirectory()
      close(open(scratch.path("file"), O_CREAT | O_WRONLY, 0o666))
      var status = stat()
      lstat(scratch.path("file"), &status)
      #expect(status.st_mode & 0o777 == 0o600)
      let pair = try SocketPair()
      pair.hangUp()
      #expect(write(pair.near.rawValue, "x", 1) == -1)
      #expect(errno == EPIPE)
      let limits = open("/proc/self/limits", O_RDONLY)
      var bytes = [UInt8](repeating: 0, count: 8192)
      let count = read(limits, &bytes, bytes.count)
      let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
      let core = text.split(separator: "\n").first { $0.hasPrefix("Max core file size") }
      #expect(core?.split(separator: " ").dropFirst(4).prefix(2) == ["0", "0"])
    }
  }
}
