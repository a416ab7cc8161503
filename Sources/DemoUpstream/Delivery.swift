import CMicrohttpd
import Glibc

/// How answers go out.
extension Server {
  /// What a request may bring at most; the service needs a few hundred bytes.
  private static let bodyBound = 1 << 20

  /// One step of a request: its head, a part of its body, or what follows once it is whole (and
  /// again after each wait).
  func advance(
    _ exchange: Exchange, method: String, chunk: UnsafeRawBufferPointer
  ) -> MHD_Result {
    switch exchange.phase {
    case .head:
      exchange.method = method
      exchange.headers = Self.headers(of: exchange.connection)
      exchange.phase = .body
      return .YES
    case .body where !chunk.isEmpty:
      exchange.body.append(contentsOf: chunk)
      return exchange.body.count <= Self.bodyBound ? .YES : .NO
    case .body:
      exchange.phase = .arrived
      arrive(exchange)
      return proceed(exchange)
    case .arrived:
      return proceed(exchange)
    }
  }

  private func proceed(_ exchange: Exchange) -> MHD_Result {
    switch waitIfNeeded(exchange) {
    case .suspended: return .YES
    // Closed without an answer.
    case .stopping: return .NO
    case .deliver: return deliver(exchange)
    }
  }

  private func deliver(_ exchange: Exchange) -> MHD_Result {
    let descriptor = demo_mhd_descriptor(exchange.connection)
    switch exchange.step.delivery {
    case .drop: return .NO
    case .reset:
      // Taking a connected socket's peer away sends a reset (connect(2), tcp(7)); a close by
      // libmicrohttpd would be preceded by an orderly shutdown.
      var nobody = sockaddr()
      nobody.sa_family = sa_family_t(AF_UNSPEC)
      connect(descriptor, &nobody, socklen_t(MemoryLayout<sockaddr>.size))
      return .NO
    case .raw(let bytes):
      // Past libmicrohttpd, which would not send what is no HTTP.
      _ = bytes.withUnsafeBytes {
        send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      return .NO
    case .whole, .stall, .truncate, .cutChunks, .generated:
      guard let answer = exchange.answer, let response = response(to: exchange, answer) else {
        return .NO
      }
      defer { MHD_destroy_response(response) }
      for field in answer.fields { MHD_add_response_header(response, field.name, field.value) }
      return MHD_queue_response(exchange.connection, UInt32(clamping: answer.status), response)
    }
  }

  private func response(to exchange: Exchange, _ answer: Answer) -> OpaquePointer? {
    let body = answer.body
    func streamed(_ size: Int?, _ source: BodySource) -> OpaquePointer? {
      MHD_create_response_from_callback(
        size.map { UInt64($0) } ?? demo_mhd_unknown_size(), 16384, readBody,
        Unmanaged.passRetained(source).toOpaque(), freeBody)
    }
    switch exchange.step.delivery {
    case .stall(let count, let name):
      let stall = StalledBody(connection: exchange.connection, name: name, server: self)
      return streamed(
        body.count,
        BodySource(count: body.count, limit: min(count, body.count), stall: stall) { body[$0] })
    case .truncate(let count):
      // A length is promised that is never sent, also where the body is short.
      let promised = max(body.count, count + 1)
      return streamed(
        promised, BodySource(count: promised, limit: min(count, body.count)) { body[$0] })
    case .cutChunks(let count):
      let limit = min(count, body.count)
      return streamed(nil, BodySource(count: limit + 1, limit: limit) { body[$0] })
    case .generated(let pattern, let count, let chunked):
      return streamed(
        chunked ? nil : count,
        BodySource(count: count, limit: count) { pattern.byte(at: $0, of: count) })
    case .whole, .drop, .reset, .raw:
      return body.withUnsafeBytes { demo_mhd_response($0.baseAddress, $0.count) }
    }
  }

  static func descriptor(of connection: OpaquePointer) -> Int32 {
    demo_mhd_descriptor(connection)
  }

  private static func headers(of connection: OpaquePointer) -> [String: String] {
    let table = HeaderTable()
    demo_mhd_headers(
      connection,
      { context, _, name, value in
        guard let context, let name else { return .YES }
        Unmanaged<HeaderTable>.fromOpaque(context).takeUnretainedValue()
          .values[String(cString: name).lowercased()] = value.map { String(cString: $0) } ?? ""
        return .YES
      }, Unmanaged.passUnretained(table).toOpaque())
    return table.values
  }
}

private final class HeaderTable {
  var values: [String: String] = [:]
}

/// A body that has stopped half-way until its hold is released.
///
/// `@unchecked Sendable`: `isReleased` is set under the server's lock, before the resumption that
/// lets the server's thread read it.
final class StalledBody: @unchecked Sendable {
  let connection: OpaquePointer
  let name: String
  let server: Server
  var isReleased = false

  init(connection: OpaquePointer, name: String, server: Server) {
    self.connection = connection
    self.name = name
    self.server = server
  }
}

/// Where libmicrohttpd gets a body from piece by piece; used by the server's thread alone.
private final class BodySource {
  let count: Int
  /// How far it goes before it stalls or is cut.
  let limit: Int
  let stall: StalledBody?
  let byte: (Int) -> UInt8

  init(count: Int, limit: Int, stall: StalledBody? = nil, byte: @escaping (Int) -> UInt8) {
    self.count = count
    self.limit = limit
    self.stall = stall
    self.byte = byte
  }

  func read(at position: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let end = stall?.isReleased == true ? count : limit
    if position < end {
      let size = min(buffer.count, end - position)
      for offset in 0..<size { buffer[offset] = byte(position + offset) }
      return size
    }
    if position >= count { return demo_mhd_end() }
    if let stall {
      // Nothing yet; called again once the connection is resumed.
      return stall.server.stall(stall) ? 0 : read(at: position, into: buffer)
    }
    return demo_mhd_cut()
  }
}

private func readBody(
  _ context: UnsafeMutableRawPointer?, _ position: UInt64, _ buffer: UnsafeMutablePointer<CChar>?,
  _ size: Int
) -> Int {
  guard let context else { return demo_mhd_cut() }
  return Unmanaged<BodySource>.fromOpaque(context).takeUnretainedValue()
    .read(
      at: Int(clamping: position), into: UnsafeMutableRawBufferPointer(start: buffer, count: size))
}

private func freeBody(_ context: UnsafeMutableRawPointer?) {
  guard let context else { return }
  Unmanaged<BodySource>.fromOpaque(context).release()
}
