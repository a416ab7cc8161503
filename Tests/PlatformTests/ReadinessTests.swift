import Glibc
import Platform
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ReadinessTests {
  let thread: LoopThread
  let loop: EventLoop
  let seen: Recorder<EventLoop.Readiness>
  let pair: SocketPair

  init() throws {
    thread = try LoopThread()
    loop = thread.loop
    seen = Recorder(on: thread.loop)
    pair = try SocketPair()
  }

  /// Lets the loop look at its descriptors a few times.
  private func turn() async {
    for _ in 0..<5 { await thread.run {} }
  }

  @Test func `a handler runs on the loop, where its actor may be touched at once`() async throws {
    pair.fill()
    try await thread.run { [loop, seen, pair] in
      try loop.watch(pair.near.rawValue, for: .readable) { readiness in
        seen.noteHere(readiness)
        loop.unwatch(pair.near.rawValue)
      }
    }
    await turn()
    #expect(await seen.entries == [.readable])
  }

  @Test func `readiness is reported as long as it lasts`() async throws {
    pair.fill()
    try await thread.run { [loop, seen, pair] in
      try loop.watch(pair.near.rawValue, for: .readable) { seen.noteHere($0) }
    }
    await turn()
    let count = await seen.entries.count
    #expect(count > 1)
    await thread.run { [loop, pair] in loop.unwatch(pair.near.rawValue) }
    let last = await seen.entries.count
    await turn()
    #expect(await seen.entries.count == last)
  }

  @Test(arguments: [.readable, .writable, [.readable, .writable]] as [EventLoop.Readiness])
  func `only what is watched is reported`(interest: EventLoop.Readiness) async throws {
    pair.fill()
    try await thread.run { [loop, seen, pair] in
      try loop.watch(pair.near.rawValue, for: interest) { readiness in
        seen.noteHere(readiness)
        loop.unwatch(pair.near.rawValue)
      }
    }
    await turn()
    #expect(await seen.entries == [interest])
  }

  @Test func `an empty interest is silent even after a hang-up, until it is updated`() async throws
  {
    pair.fill()
    try await thread.run { [loop, seen, pair] in
      try loop.watch(pair.near.rawValue, for: []) { readiness in
        seen.noteHere(readiness)
        loop.unwatch(pair.near.rawValue)
      }
    }
    pair.hangUp()
    await turn()
    #expect(await seen.entries.isEmpty)
    try await thread.run { [loop, pair] in try loop.update(pair.near.rawValue, for: .readable) }
    await turn()
    #expect(await seen.entries == [[.readable, .hangup]])
  }

  @Test func `watching twice and updating what is not watched are errors`() async throws {
    let number = pair.near.rawValue
    try await thread.run { [loop] in
      try loop.watch(number, for: .readable) { _ in }
    }
    await #expect(throws: SystemError(operation: "watch descriptor \(number)", code: EEXIST)) {
      try await thread.run { [loop] in try loop.watch(number, for: .readable) { _ in } }
    }
    await thread.run { [loop] in
      loop.unwatch(number)
      loop.unwatch(number)
    }
    await #expect(throws: SystemError(operation: "update descriptor \(number)", code: ENOENT)) {
      try await thread.run { [loop] in try loop.update(number, for: .readable) }
    }
  }

  @Test func `a regular file cannot be watched, and is not half watched afterwards`() async throws {
    let scratch = try ScratchDirectory()
    let file = FileDescriptor(owning: open(scratch.path("file"), O_RDWR | O_CREAT, 0o600))
    let number = file.rawValue
    for _ in 0..<2 {
      await #expect(throws: SystemError(operation: "watch descriptor \(number)", code: EPERM)) {
        try await thread.run { [loop] in try loop.watch(number, for: .readable) { _ in } }
      }
    }
  }

  /// Both are ready in one batch. The first handler that runs takes the other's number away and
  /// gives it to a new, silent descriptor: the event that is still in the batch is nobody's.
  @Test func `an event of a number that was used again in the same batch reaches nobody`()
    async throws
  {
    let pairs = [try SocketPair(), try SocketPair()]
    let silent = try SocketPair()
    let calls = Locked<[String]>([])
    try await thread.run { [loop] in
      for (index, own) in pairs.enumerated() {
        own.fill()
        let other = pairs[1 - index]
        try loop.watch(own.near.rawValue, for: .readable) { _ in
          calls.withLock { $0.append("old") }
          loop.unwatch(own.near.rawValue)
          loop.unwatch(other.near.rawValue)
          dup2(silent.near.rawValue, other.near.rawValue)
          try? loop.watch(other.near.rawValue, for: .readable) { _ in
            calls.withLock { $0.append("new") }
          }
        }
      }
    }
    await turn()
    #expect(calls.withLock { $0 } == ["old"])
    silent.fill()
    await turn()
    #expect(calls.withLock { $0.contains("new") })
  }

  @Test func `a descriptor that a library closed before it was unwatched does no harm`()
    async throws
  {
    let number = dup(pair.near.rawValue)
    try await thread.run { [loop] in
      try loop.watch(number, for: .readable) { _ in }
      close(number)
      loop.unwatch(number)
    }
    await turn()
  }
}
