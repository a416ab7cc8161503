import Execution
import Glibc
import Platform
import TestSupport

/// Clients that never read, clients that send a byte now and then, and watchers of which half are
/// stopped; and one honest client among them, whose waits are measured.
struct CrowdSoak {
  let each: Int

  func run() throws {
    let stage = try SoakStage(["Log": ["Level=notice"]])
    let path = stage.daemon.socket
    try warmUp(path)
    let before = try stage.footprint
    say("before:              \(before)")
    let deaf = try (0..<each).map { _ in try SoakClient(path) }
    // As much as is taken: the daemon stops reading where its replies are not read.
    for client in deaf {
      for _ in 0..<100 where client.sendNow(SoakClient.call("org.brewlog.Service.Metrics")) {}
    }
    let slow = try (0..<each).map { _ in try SoakClient(path) }
    let watchers = try (0..<each).map { _ in try SoakClient(path) }
    for watcher in watchers {
      watcher.send(SoakClient.call("org.brewlog.Session.Watch", "{}", ",\"more\":true"))
      try watcher.receive(1)
    }
    let message = Array(SoakClient.call("org.brewlog.Session.Status").utf8)
    let honest = try SoakClient(path)
    var waits: [Double] = []
    for number in 0..<5_000 {
      // A byte from each slow one for every fifty honest calls.
      if number % 50 == 0 {
        let byte = String(decoding: [message[number / 50 % message.count]], as: UTF8.self)
        for client in slow { client.send(byte) }
      }
      if number % 500 == 0 { try cause(stage) }
      // Half of the watchers read what came, the others are stopped.
      if number % 100 == 0 { for watcher in watchers.prefix(each / 2) { watcher.drain() } }
      let start = SystemClock.now
      honest.send(SoakClient.call("org.brewlog.Session.Status"))
      try honest.receive(1)
      waits.append(start.duration(to: SystemClock.now) / .milliseconds(1))
    }
    let full = try stage.footprint
    // To the compiler they could have gone with their last call.
    withExtendedLifetime((deaf, slow, watchers)) {}
    waits.sort()
    let (middle, late) = (waits[waits.count / 2], waits[waits.count * 99 / 100])
    say("with the crowd:      \(full)")
    say("an honest call:      \(round(middle)) ms at the median, \(round(late)) ms at the 99th")
    try expect(late < 50, "an honest call took \(late) ms at the 99th percentile")
    // The bound of Limits.swift for one user's connections, and what the process needs anyway.
    try expect(
      full.privateKilobytes < before.privateKilobytes + 64 * 1024 + 16 * 1024,
      "the crowd costs more than its bound")
  }

  private func round(_ milliseconds: Double) -> Double { (milliseconds * 1_000).rounded() / 1_000 }

  private func warmUp(_ path: String) throws {
    for _ in 0..<200 {
      let client = try SoakClient(path)
      client.send(SoakClient.call("org.brewlog.Service.Metrics"))
      try client.receive(1)
    }
  }

  /// Events for the watchers: a session that begins and ends.
  private func cause(_ stage: SoakStage) throws {
    let client = try SoakClient(stage.daemon.socket)
    client.send(
      SoakClient.call("org.brewlog.Session.ImportCredentials", stage.tokens)
        + SoakClient.call("org.brewlog.Session.Logout"))
    try client.receive(2)
  }
}
