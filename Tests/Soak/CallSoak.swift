import Glibc
import TestSupport

/// Millions of calls of all kinds from clients that come and go in every way. Afterwards memory,
/// descriptors and threads are what they were.
struct CallSoak {
  let calls: Int
  private static let connections = 24
  private static let batch = 16

  /// Calls with one reply each, whatever it says.
  private static let answered = [
    SoakClient.call("org.brewlog.Session.Status"),
    SoakClient.call("org.brewlog.Tips.Today", "{\"cacheOnly\":true}"),
    SoakClient.call("org.brewlog.Tips.Get", "{\"id\":\"bloom\"}"),
    SoakClient.call("org.brewlog.Tips.Get", "{\"id\":\"no-such-tip\",\"cacheOnly\":true}"),
    SoakClient.call("org.brewlog.Tips.List", "{\"limit\":3}"),
    SoakClient.call("org.brewlog.Session.Explain"),
    SoakClient.call("org.brewlog.Session.History", "{\"limit\":3}"),
    SoakClient.call("org.brewlog.Service.Health"),
    SoakClient.call("org.brewlog.Service.CanI", "{\"method\":\"org.brewlog.Session.Logout\"}"),
    SoakClient.call("org.varlink.service.GetInfo"),
    SoakClient.call("org.brewlog.Session.NoSuchMethod"),
    SoakClient.call("org.example.No.Such"),
    SoakClient.call("org.brewlog.Session.Status", "{\"zzz\":1}"),
    SoakClient.call("org.brewlog.Session.Watch"),
    SoakClient.call("org.brewlog.Session.Logout", "{\"ifGeneration\":1000000000}"),
    SoakClient.call("org.brewlog.Session.Status", "{}", ",\"upgrade\":true"),
  ]
  /// With a write to the store, or a request upstream; one in so many calls.
  private static let heavyEvery = 20_000

  func run() throws {
    let stage = try SoakStage(["Log": ["Level=notice"], "Access": ["RequestsPerMinute=1000000"]])
    var generator = SystemRandomNumberGenerator()
    var clients = try (0..<Self.connections).map { _ in try SoakClient(stage.daemon.socket) }
    try importTokens(stage)
    var done = 0
    var footprints: [Footprint] = []
    var nextHeavy = Self.heavyEvery
    // The first twentieth fills caches and the journal to their bounds.
    let marks = [calls / 20, calls / 2, calls]
    while footprints.count < marks.count {
      done += try step(stage, &clients, &generator)
      if done >= nextHeavy {
        nextHeavy += Self.heavyEvery
        done += try heavy(stage, &clients[0])
      }
      if done >= marks[footprints.count] {
        let footprint = try stage.footprint
        let name = ["start: ", "middle:", "end:   "][footprints.count]
        say("\(name) \(done) calls, \(footprint)")
        footprints.append(footprint)
      }
    }
    clients = []
    usleep(500_000)
    say("after they have left: \(try stage.footprint)")
    let (start, end) = (footprints[0], footprints[2])
    try expect(end.descriptors <= start.descriptors + 2, "descriptors have grown")
    try expect(end.threads <= start.threads, "threads have grown")
    try expect(
      end.privateKilobytes <= max(start.privateKilobytes, footprints[1].privateKilobytes) + 1_024,
      "memory has grown")
  }

  /// One thing that clients do; returns how many calls it was.
  private func step(
    _ stage: SoakStage, _ clients: inout [SoakClient],
    _ generator: inout SystemRandomNumberGenerator
  ) throws -> Int {
    let place = Int.random(in: clients.indices, using: &generator)
    switch Int.random(in: 0..<100, using: &generator) {
    case 0..<90:
      var text = ""
      for _ in 0..<Self.batch {
        text += Self.answered.randomElement(using: &generator) ?? ""
      }
      clients[place].send(text)
      try clients[place].receive(Self.batch)
      return Self.batch
    case 90..<93:
      // Leaves without its replies.
      clients[place].send(Self.answered.joined())
      clients[place] = try SoakClient(stage.daemon.socket)
      return Self.answered.count
    case 93..<95:
      // Leaves in the middle of a message.
      let text = Self.answered.randomElement(using: &generator) ?? ""
      let cut = Int.random(in: 1..<text.utf8.count, using: &generator)
      clients[place].send(String(decoding: Array(text.utf8.prefix(cut)), as: UTF8.self))
      clients[place] = try SoakClient(stage.daemon.socket)
      return 1
    case 95..<97:
      clients[place].send(
        SoakClient.call("org.brewlog.Session.Status", "{}", ",\"oneway\":true")
          + SoakClient.call("org.varlink.service.GetInfo"))
      try clients[place].receive(1)
      return 2
    case 97..<99:
      // Watches for a moment.
      clients[place].send(SoakClient.call("org.brewlog.Session.Watch", "{}", ",\"more\":true"))
      try clients[place].receive(1)
      clients[place] = try SoakClient(stage.daemon.socket)
      return 1
    default:
      clients[place].send("[]\0")
      try expect(clients[place].endsByPeer(), "what is no call did not end the connection")
      clients[place] = try SoakClient(stage.daemon.socket)
      return 1
    }
  }

  /// What changes the session: a refresh, and now and then its end and a new one.
  private func heavy(_ stage: SoakStage, _ client: inout SoakClient) throws -> Int {
    client.send(
      SoakClient.call("org.brewlog.Session.Refresh")
        + SoakClient.call("org.brewlog.Tips.Today", "{\"maxAgeSeconds\":0}")
        + SoakClient.call("org.brewlog.Session.Logout"))
    try client.receive(3)
    try importTokens(stage)
    return 4
  }

  private func importTokens(_ stage: SoakStage) throws {
    let client = try SoakClient(stage.daemon.socket)
    client.send(SoakClient.call("org.brewlog.Session.ImportCredentials", stage.tokens))
    try client.receive(1, keep: true)
    let reply = String(decoding: client.last, as: UTF8.self)
    try expect(!reply.contains("\"error\""), "the import failed: \(reply)")
  }
}
