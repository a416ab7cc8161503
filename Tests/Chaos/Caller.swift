import Execution
import Glibc
import JSON
import Platform

/// One call on a connection of its own, on a thread that may block.
struct Caller {
  enum Outcome {
    case reply(JSONValue)
    case failure(String, JSONValue)
    /// The daemon has ended before it answered, or there was none.
    case nobody
  }

  /// No answer of this daemon may take so long: its own bounds are 4 s upstream and 5 s for a disk.
  /// The rest is for a machine that is slow, or busy with other things.
  static let patience: Duration = .seconds(60)

  let socket: String
  let ledger: Ledger
  /// The run of the daemon that serves now.
  let run: @Sendable () -> Int

  /// `sent` is what was known when the call left.
  func call(_ method: String, _ parameters: JSONValue = [:]) -> (
    outcome: Outcome, sent: Ledger.Sent
  ) {
    let sent = ledger.send(run: run())
    guard let descriptor = try? UnixSocket.connect(to: socket, timeout: Self.patience) else {
      ledger.answered()
      return (.nobody, sent)
    }
    let call: JSONValue = ["method": .string(method), "parameters": parameters]
    guard let bytes = try? JSONText.encode(call) + [0],
      Glibc.send(descriptor.rawValue, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count,
      let text = receive(descriptor.rawValue, method)
    else {
      ledger.cutOff(sent, method)
      return (.nobody, sent)
    }
    ledger.answered()
    if ReplyText(text).showsToken { ledger.violate("\(method) has answered with a token") }
    guard let reply = try? JSONText.decode(JSONValue.self, from: text) else {
      ledger.violate("\(method) was answered with what is no JSON")
      return (.nobody, sent)
    }
    let values = reply["parameters"] ?? [:]
    if let name = reply["error"]?.string { return (.failure(name, values), sent) }
    return (.reply(values), sent)
  }

  /// Nil: the connection has ended.
  private func receive(_ descriptor: Int32, _ method: String) -> [UInt8]? {
    let limit = SystemClock.now.advanced(by: Self.patience)
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while text.last != 0 {
      var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let left = SystemClock.now.duration(to: limit) / .milliseconds(1)
      guard left > 0, poll(&entry, 1, Int32(left.rounded(.up))) > 0 else {
        ledger.violate("\(method) had no answer within \(Self.patience)")
        return nil
      }
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      if count <= 0 { return nil }
      text += buffer[..<count]
    }
    return text.dropLast()
  }
}

extension Sighting {
  /// Of a reply's `session`.
  init?(_ session: JSONValue?) {
    guard let session, let generation = session["generation"]?.integer,
      let state = session["state"]?.string
    else { return nil }
    self.init(
      generation: generation, state: state, rotations: session["rotations"]?.integer ?? 0,
      isDurable: session["durable"]?.bool ?? false)
  }
}
