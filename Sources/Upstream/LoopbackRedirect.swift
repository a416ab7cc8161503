package import Execution
import Glibc
package import Platform

/// The address at 127.0.0.1 that a browser is sent back to, once (RFC 8252 section 7.3). It answers
/// nothing but that one request, and ends with it.
package actor LoopbackRedirect {
  package nonisolated let unownedExecutor: UnownedSerialExecutor
  package nonisolated let redirectURI: String
  private let loop: EventLoop
  private let host: String
  private let listener: HeldDescriptor
  private var visitors: [Int32: Visitor] = [:]
  private var isAnswer: (@Sendable (String) -> Bool)?
  private var waiter: CheckedContinuation<String?, Never>?
  private var timer: TimerID?
  private var isOver = false

  /// A browser opens a few at once; more is somebody else.
  private static let maxVisitors = 8
  private static let maxHeadBytes = 16 << 10
  /// How long one of them may take over its request.
  private static let patience = Duration.seconds(10)

  /// `port` 0: any free one. Throws where it cannot be had.
  package init(loop: EventLoop, port: UInt16 = 0) throws(SystemError) {
    let descriptor = try LoopbackRedirect.makeSocket()
    let bound = try LoopbackRedirect.listen(descriptor.rawValue, port)
    listener = HeldDescriptor(descriptor)
    self.loop = loop
    host = "127.0.0.1:\(bound)"
    redirectURI = "http://127.0.0.1:\(bound)/callback"
    unownedExecutor = loop.asUnownedSerialExecutor()
  }

  /// The whole address that the browser came back with. Nil: not by the deadline, or the task was
  /// cancelled. The port is closed in every case. To be called once.
  package func wait(
    until deadline: Instant, for isAnswer: @escaping @Sendable (String) -> Bool
  ) async -> String? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        start(until: deadline, for: isAnswer, continuation)
      }
    } onCancel: {
      Task(executorPreference: loop) { await self.end(nil) }
    }
  }

  /// Ends the wait, if there is one, and closes the port.
  package func close() { end(nil) }

  private func start(
    until deadline: Instant, for isAnswer: @escaping @Sendable (String) -> Bool,
    _ continuation: CheckedContinuation<String?, Never>
  ) {
    if Task.isCancelled || isOver || waiter != nil {
      continuation.resume(returning: nil)
      return
    }
    waiter = continuation
    self.isAnswer = isAnswer
    timer = loop.schedule(at: deadline) { self.assumeIsolated { $0.end(nil) } }
    do throws(SystemError) {
      try loop.watch(listener.number, for: .readable) { _ in
        self.assumeIsolated { $0.accept() }
      }
    } catch {
      end(nil)
    }
  }

  private func end(_ address: String?) {
    guard !isOver else { return }
    isOver = true
    if let timer { loop.cancel(timer) }
    loop.unwatch(listener.number)
    listener.close()
    for descriptor in Array(visitors.keys) { dismiss(descriptor) }
    waiter?.resume(returning: address)
    waiter = nil
    isAnswer = nil
  }

  // MARK: Visitors

  private func accept() {
    while !isOver, let descriptor = try? UnixSocket.accept(from: listener.number) {
      guard visitors.count < LoopbackRedirect.maxVisitors else { continue }
      let number = descriptor.rawValue
      let visitor = Visitor(HeldDescriptor(descriptor))
      guard
        (try? loop.watch(number, for: .readable) { _ in
          self.assumeIsolated { $0.read(number) }
        }) != nil
      else { continue }
      let end = loop.now.advanced(by: LoopbackRedirect.patience)
      visitor.timer = loop.schedule(at: end) { self.assumeIsolated { $0.dismiss(number) } }
      visitors[number] = visitor
    }
  }

  private func dismiss(_ number: Int32) {
    guard let visitor = visitors.removeValue(forKey: number) else { return }
    if let timer = visitor.timer { loop.cancel(timer) }
    loop.unwatch(number)
    visitor.descriptor.close()
  }

  private func read(_ number: Int32) {
    guard let visitor = visitors[number] else { return }
    let count = withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
      let count = Glibc.read(number, buffer.baseAddress, buffer.count)
      if count > 0 { visitor.head.append(contentsOf: buffer[..<count]) }
      return count
    }
    if count < 0, errno == EAGAIN || errno == EINTR { return }
    guard count > 0, visitor.head.count <= LoopbackRedirect.maxHeadBytes else {
      dismiss(number)
      return
    }
    guard let request = RedirectRequest(visitor.head) else { return }
    respond(to: request, number)
  }

  private func respond(to request: RedirectRequest, _ number: Int32) {
    // The name is checked too: a page elsewhere may have led its own name here.
    guard request.host == host, request.method == "GET", request.target.hasPrefix("/callback?")
    else {
      finish(number, "404 Not Found", "There is nothing here.")
      return
    }
    let address = "http://\(host)\(request.target)"
    guard isAnswer?(address) == true else {
      finish(number, "400 Bad Request", "This is not the sign-in that brewlog is waiting for.")
      return
    }
    finish(number, "200 OK", "brewlog has the answer. You can close this window.")
    end(address)
  }

  private func finish(_ number: Int32, _ status: String, _ text: String) {
    let page = "<!doctype html><meta charset=\"utf-8\"><title>brewlog</title><p>\(text)</p>\n"
    let lines = [
      "HTTP/1.1 \(status)", "Content-Type: text/html; charset=utf-8",
      "Content-Length: \(page.utf8.count)", "Cache-Control: no-store",
      "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'",
      "Referrer-Policy: no-referrer", "Connection: close", "", page,
    ]
    // A few hundred bytes fit into an empty socket; whoever loses them has only lost a page.
    let bytes = Array(lines.joined(separator: "\r\n").utf8)
    _ = send(number, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    shutdown(number, Int32(SHUT_WR))
    dismiss(number)
  }

  private static func makeSocket() throws(SystemError) -> FileDescriptor {
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let raw = socket(AF_INET, kind, 0)
    guard raw >= 0 else { throw SystemError(operation: "make a socket", code: errno) }
    return FileDescriptor(owning: raw)
  }

  /// Returns the port.
  private static func listen(_ raw: Int32, _ port: UInt16) throws(SystemError) -> UInt16 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let size = length
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        bind(raw, generic, size) == 0 && Glibc.listen(raw, 8) == 0
          && getsockname(raw, generic, &length) == 0
      }
    }
    guard isListening else {
      throw SystemError(operation: "listen on 127.0.0.1:\(port)", code: errno)
    }
    return UInt16(bigEndian: address.sin_port)
  }
}

/// A descriptor that a table can hold; closed once.
private final class HeldDescriptor {
  let number: Int32
  private var descriptor: FileDescriptor?

  init(_ descriptor: consuming FileDescriptor) {
    number = descriptor.rawValue
    self.descriptor = consume descriptor
  }

  func close() {
    descriptor = nil
  }
}

private final class Visitor {
  let descriptor: HeldDescriptor
  var head: [UInt8] = []
  var timer: TimerID?

  init(_ descriptor: HeldDescriptor) {
    self.descriptor = descriptor
  }
}

/// The head of a request, as far as it matters here.
struct RedirectRequest {
  var method: String
  var target: String
  var host: String

  /// Nil while the head is not whole. What is no request has an empty method.
  init?(_ bytes: [UInt8]) {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      (method, target, host) = ("", "", "")
      return
    }
    guard text.utf8.count >= 4, text.hasSuffix("\r\n\r\n") || text.contains("\r\n\r\n") else {
      return nil
    }
    var lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)[...]
    let words = lines.removeFirst().split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, words[2].hasPrefix("HTTP/1."),
      words[1].utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else {
      (method, target, host) = ("", "", "")
      return
    }
    method = String(words[0])
    target = String(words[1])
    let hosts = lines.prefix { !$0.isEmpty }.filter { $0.lowercased().hasPrefix("host:") }
    host = hosts.count == 1 ? hosts[0].dropFirst(5).filter { $0 != " " && $0 != "\t" } : ""
  }
}
