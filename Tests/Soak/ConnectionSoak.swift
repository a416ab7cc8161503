import Glibc
import Platform
import TestSupport

/// Thousands of connections at once: each is answered, an idle one costs little, and all is given
/// back.
struct ConnectionSoak {
  let count: Int

  func run() throws {
    try raiseDescriptorLimit()
    let stage = try SoakStage([
      "Socket": ["MaxConnections=16384", "MaxConnectionsPerUser=16384"], "Log": ["Level=notice"],
    ])
    let path = stage.daemon.socket
    // What the first calls allocate for good is not a connection's.
    let empty = try stage.footprint
    try warmUp(path)
    let before = try wait(stage, descriptors: empty.descriptors)
    say("before:               \(before)")
    var clients: [SoakClient] = []
    for number in 0..<count {
      let client = try SoakClient(path)
      client.send(SoakClient.call("org.brewlog.Session.Status"))
      try client.receive(1)
      clients.append(client)
      if (number + 1) % 2_500 == 0 { say("\(number + 1) connections: \(try stage.footprint)") }
    }
    let full = try stage.footprint
    let each = (full.privateKilobytes - before.privateKilobytes) * 1024 / count
    say("with \(count):         \(full)")
    say("an idle connection:   \(each) bytes")
    // Service goes on, on the oldest connection and on a new one.
    for client in [clients[0], clients[count / 2], try SoakClient(path)] {
      client.send(SoakClient.call("org.brewlog.Session.Status"))
      try client.receive(1)
    }
    clients = []
    let after = try wait(stage, descriptors: before.descriptors)
    say("after they have left: \(after)")
    try expect(full.descriptors >= before.descriptors + count, "not all were connected")
    try expect(each < 2_048, "an idle connection costs \(each) bytes")
    try expect(after.descriptors == before.descriptors, "descriptors are left over")
    try expect(after.threads == before.threads, "threads are left over")
    try expect(
      after.privateKilobytes <= before.privateKilobytes + 1_024, "memory was not given back")
  }

  private func warmUp(_ path: String) throws {
    for _ in 0..<3 {
      let clients = try (0..<200).map { _ in try SoakClient(path) }
      for client in clients {
        client.send(SoakClient.call("org.brewlog.Session.Status"))
        try client.receive(1)
      }
    }
  }

  /// The daemon learns of closed connections one by one.
  private func wait(_ stage: SoakStage, descriptors: Int) throws -> Footprint {
    for _ in 0..<600 {
      let present = try stage.footprint
      if present.descriptors <= descriptors {
        // Memory is given back a second after they have gone.
        usleep(2_000_000)
        return try stage.footprint
      }
      usleep(50_000)
    }
    return try stage.footprint
  }

  /// One for each connection, here and in the daemon, which inherits the limit.
  private func raiseDescriptorLimit() throws {
    var limit = rlimit()
    let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    guard getrlimit(kind, &limit) == 0 else { throw SystemError.last("ask for the limit") }
    limit.rlim_cur = limit.rlim_max
    _ = setrlimit(kind, &limit)
    let needed = count + 200
    guard limit.rlim_cur >= UInt(needed) else {
      throw SoakFailure(
        "this process may open \(limit.rlim_cur) files and \(needed) are needed; raise it: "
          + "ulimit -n \(needed)")
    }
  }
}

func expect(_ condition: Bool, _ message: String) throws {
  if !condition { throw SoakFailure(message) }
}
