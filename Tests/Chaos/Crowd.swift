import Execution
import Glibc
import Platform
import Simulation

/// Up to a thousand clients that poll the daemon from one thread, each with one call at a time, over
/// every death of the daemon. Each call is answered, or its connection was ended with its daemon.
final class Crowd: @unchecked Sendable {
  // Unchecked: `clients` is the thread's alone; the rest is constant or locked.
  private struct Client {
    var descriptor: Int32 = -1
    var run = 0
    var sent: Ledger.Sent?
    var kind = 0
    var due = SystemClock.now
    var reply: [UInt8] = []
  }

  private static let calls: [(method: String, text: [UInt8])] = [
    ("org.brewlog.Session.Status", "{}"), ("org.brewlog.Session.Status", "{}"),
    ("org.brewlog.Tips.Today", "{}"), ("org.brewlog.Tips.Today", "{\"cacheOnly\":true}"),
    ("org.brewlog.Tips.Today", "{\"maxAgeSeconds\":0,\"waitSeconds\":2}"),
    ("org.brewlog.Tips.Get", "{\"id\":\"bloom\"}"),
    ("org.brewlog.Tips.Get", "{\"id\":\"no-such-tip\"}"),
    ("org.brewlog.Session.Explain", "{}"), ("org.brewlog.Service.Health", "{}"),
    ("org.brewlog.Session.History", "{\"limit\":5}"),
  ].map { method, parameters in
    (method, Array("{\"method\":\"\(method)\",\"parameters\":\(parameters)}\0".utf8))
  }

  private let socket: String
  private let ledger: Ledger
  private let run: @Sendable () -> Int
  private let pause: Range<Int>
  private let isOver = Locked(false)
  private var clients: [Client]
  private var chance: SplitMix
  private var buffer = [UInt8](repeating: 0, count: 65_536)

  /// `pause` in milliseconds between a client's calls.
  init(
    count: Int, socket: String, ledger: Ledger, pause: Range<Int>, seed: UInt64,
    run: @escaping @Sendable () -> Int
  ) {
    (self.socket, self.ledger, self.run, self.pause) = (socket, ledger, run, pause)
    chance = SplitMix(state: seed)
    clients = []
    for _ in 0..<count {
      var client = Client()
      client.due = SystemClock.now.advanced(
        by: .milliseconds(Int.random(in: pause, using: &chance)))
      clients.append(client)
    }
  }

  func finish() { isOver.withLock { $0 = true } }

  /// Until it is told to end and every call has had its end.
  func poll() {
    defer { for client in clients where client.descriptor >= 0 { close(client.descriptor) } }
    while true {
      let ends = isOver.withLock { $0 }
      if ends, clients.allSatisfy({ $0.sent == nil }) { return }
      var entries: [pollfd] = []
      var places: [Int] = []
      let now = SystemClock.now
      for place in clients.indices {
        if clients[place].sent == nil, !ends, clients[place].due <= now { begin(place) }
        guard let sent = clients[place].sent else { continue }
        if sent.at.duration(to: now) > Caller.patience {
          ledger.violate("\(method(place)) had no answer within \(Caller.patience)")
          drop(place)
          continue
        }
        entries.append(pollfd(fd: clients[place].descriptor, events: Int16(POLLIN), revents: 0))
        places.append(place)
      }
      // Not at every single reply: the machine is the daemon's.
      usleep(4_000)
      _ = Glibc.poll(&entries, nfds_t(entries.count), 5)
      for (entry, place) in zip(entries, places) where entry.revents != 0 { read(place) }
    }
  }

  private func method(_ place: Int) -> String { Self.calls[clients[place].kind].method }

  private func begin(_ place: Int) {
    let present = run()
    if clients[place].descriptor >= 0, clients[place].run < present { drop(place) }
    if clients[place].descriptor < 0 {
      clients[place].run = present
      clients[place].descriptor = connect()
    }
    guard clients[place].descriptor >= 0 else { return rest(place, shortly: true) }
    clients[place].kind = Int.random(in: Self.calls.indices, using: &chance)
    let text = Self.calls[clients[place].kind].text
    let sent = ledger.send(run: clients[place].run)
    let count = Glibc.send(
      clients[place].descriptor, text, text.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    clients[place].sent = sent
    clients[place].reply = []
    if count != text.count { end(place) }
  }

  /// Does not wait: a full backlog is tried again, as a missing daemon is.
  private func connect() -> Int32 {
    let descriptor = Glibc.socket(
      AF_UNIX,
      Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        | Int32(SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { return -1 }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: socket.utf8) }
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    if result == 0 { return descriptor }
    close(descriptor)
    return -1
  }

  private func read(_ place: Int) {
    let count = Glibc.read(clients[place].descriptor, &buffer, buffer.count)
    if count < 0, errno == EAGAIN || errno == EINTR { return }
    if count <= 0 { return end(place) }
    clients[place].reply += buffer[..<count]
    guard clients[place].reply.last == 0, let sent = clients[place].sent else { return }
    ledger.answered()
    check(ReplyText(clients[place].reply), sent, method(place))
    clients[place].sent = nil
    // Some stay connected, others come anew.
    if Int.random(in: 0..<4, using: &chance) == 0 { drop(place) }
    rest(place, shortly: false)
  }

  private func check(_ text: ReplyText, _ sent: Ledger.Sent, _ method: String) {
    if text.showsToken { ledger.violate("\(method) has answered with a token") }
    switch method {
    case "org.brewlog.Session.Status":
      guard let seen = text.sighting else {
        return ledger.violate("a status without a session")
      }
      ledger.saw(seen, since: sent, in: method)
    case "org.brewlog.Tips.Today", "org.brewlog.Tips.Get":
      guard let generation = text.number("generation") else { return }
      ledger.saw(generation: generation, since: sent, in: method)
    default: break
    }
  }

  /// The connection has ended with a call under way.
  private func end(_ place: Int) {
    if let sent = clients[place].sent { ledger.cutOff(sent, method(place)) }
    drop(place)
    rest(place, shortly: true)
  }

  private func drop(_ place: Int) {
    if clients[place].descriptor >= 0 { close(clients[place].descriptor) }
    clients[place].descriptor = -1
    clients[place].sent = nil
  }

  private func rest(_ place: Int, shortly: Bool) {
    let span =
      shortly ? Int.random(in: 20..<100, using: &chance) : .random(in: pause, using: &chance)
    clients[place].due = SystemClock.now.advanced(by: .milliseconds(span))
  }
}
