import Glibc
import Platform
import TestSupport
import Varlink

/// A handler made of closures.
struct ClosureHandler: CallHandler {
  let body: @Sendable (Call, Caller) -> Answer
  var preparation: @Sendable (Call) -> PreparedAnswer? = { _ in nil }

  func answer(_ call: Call, from caller: Caller) -> Answer { body(call, caller) }

  func prepare(_ call: Call) -> PreparedAnswer? { preparation(call) }
}

/// A server on a loop of its own, on a socket of its own.
final class ServerFixture: Sendable {
  static let interface = InterfaceDescription(
    name: "org.example.Test",
    text: """
      interface org.example.Test
      method Now() -> ()
      method Later() -> ()
      method Stream() -> (n: int)
      method Big() -> (text: string)

      """)

  let thread: LoopThread
  let server: VarlinkServer
  let path: String
  private let scratch: ScratchDirectory
  private let socket: BoundSocket

  init(
    limits: Limits = Limits(), giveBack: @escaping @Sendable () -> Void = {},
    notice: @escaping @Sendable (ServerNotice) -> Void = { _ in },
    prepare: @escaping @Sendable (Call) -> PreparedAnswer? = { _ in nil },
    _ answer: @escaping @Sendable (Call, Caller) -> Answer
  ) async throws {
    thread = try LoopThread()
    scratch = try ScratchDirectory()
    path = scratch.path("s")
    var bound = try UnixSocket.listen(at: path, mode: 0o600, backlog: 128)
    guard let listener = bound.takeListener() else { throw ClientError.connectionClosed }
    socket = bound
    server = VarlinkServer(
      loop: thread.loop,
      info: ServiceInfo(
        vendor: "Example", product: "test", version: "1", url: "https://example.org"),
      interfaces: [Self.interface], limits: limits,
      handler: ClosureHandler(body: answer, preparation: prepare),
      notice: notice, giveBack: giveBack)
    try await server.serve(on: listener)
  }

  func connect() throws -> RawClient {
    try RawClient(path)
  }

  /// Waits until so many connections are left; the suite's time limit ends a wait in vain.
  func connections(become count: Int) async {
    while await server.connectionCount != count { await Task.yield() }
  }

  func close() async {
    await server.stop()
    thread.close()
  }
}

/// A client that says just what a test wants said.
struct RawClient: ~Copyable {
  let descriptor: FileDescriptor

  init(_ path: String) throws {
    descriptor = try UnixSocket.connect(to: path)
  }

  func send(_ text: String) {
    send(Array(text.utf8))
  }

  func send(_ bytes: [UInt8]) {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(descriptor.rawValue, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { return }
      sent += count
    }
  }

  /// A call of the test interface, or of any other where the name has a dot.
  func call(_ method: String, _ rest: String = "") {
    let name = method.contains(".") ? method : "org.example.Test." + method
    send("{\"method\":\"\(name)\"\(rest)}\0")
  }

  func endSending() {
    shutdown(descriptor.rawValue, Int32(SHUT_WR))
  }

  /// The next reply; nil at the end, or where the server has reset the connection.
  func reply() -> String? {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while recv(descriptor.rawValue, &byte, 1, 0) == 1 {
      if byte == 0 { return String(decoding: bytes, as: UTF8.self) }
      bytes.append(byte)
    }
    return nil
  }

  /// What comes until the end, read in small pieces.
  func rest(chunk: Int = 1024) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: chunk)
    while true {
      let count = recv(descriptor.rawValue, &buffer, chunk, 0)
      if count <= 0 { return bytes }
      bytes.append(contentsOf: buffer[..<count])
    }
  }
}

func success(_ text: String = "{}") -> Reply {
  .success(Array(text.utf8))
}
