import DemoUpstream
import Execution
import Glibc
import JSON
import Platform
import Simulation
import TestSupport

/// One seed's day: chaos with two administrators and a crowd, then calm, then the reckoning.
struct Day {
  let seed: UInt64
  let seconds: Int

  struct Outcome {
    let ledger: Ledger
    let clients: Int
    let refreshes: Int
    let leftOut: [String]
  }

  func live() throws -> Outcome {
    let ledger = Ledger()
    var chance = SplitMix(state: seed)
    var options = DemoOptions()
    let lifetime = Int64([3, 8, 3_600].randomElement(using: &chance) ?? 8)
    options.accessLifetime = .seconds(lifetime)
    let upstream = try DemoUpstream(options)
    defer { upstream.close() }
    let dialect = seed % 2 == 0 ? "simple" : "oauth2"
    let host = try Host(ledger, upstream, dialect: dialect)
    ledger.note("seed \(seed): dialect \(dialect), access tokens live \(lifetime) s")
    var leftOut: [String] = []
    if !host.hasDisk { leftOut.append("disk full: no file system can be mounted here") }
    if !host.hasNames { leftOut.append("names gone: /etc/hosts cannot be covered here") }
    try host.start()
    defer { try? host.end(SIGKILL) }

    let caller = Caller(socket: host.socket, ledger: ledger, run: host.run)
    // A thousand in every other pair of days, so that both dialects meet them.
    let size = seed / 2 % 2 == 0 ? 1_000 : [50, 200].randomElement(using: &chance) ?? 200
    ledger.note("\(size) clients poll")
    let crowd = Crowd(
      count: size, socket: host.socket, ledger: ledger,
      pause: size > 500 ? 1_000..<4_000 : 200..<1_000, seed: chance.next(), run: host.run)
    let isOver = Locked(false)
    let crowdThread = try thread { crowd.poll() }
    let hasSettled = Locked(false)
    let stillness = try thread {
      Stillness(upstream: upstream, ledger: ledger).watch { hasSettled.withLock { $0 } }
    }
    defer {
      hasSettled.withLock { $0 = true }
      stillness.end()
    }
    let administrators = try ["anna", "bela"].map { name in
      let administrator = Administrator(
        name: name, caller: caller, upstream: upstream, ledger: ledger, isOver: isOver,
        lifetime: lifetime)
      let seed = chance.next()
      return try thread { administrator.work(seed: seed) }
    }
    let reckoning = Reckoning(host: host, ledger: ledger, caller: caller)
    do {
      defer {
        isOver.withLock { $0 = true }
        for thread in administrators { thread.end() }
      }
      let start = SystemClock.now
      let chaos = Duration.seconds(max(2, seconds * 2 / 3))
      var script = Script(host: host, seed: chance.next(), administrator: caller)
      do {
        try script.run(for: chaos, since: start)
      } catch {
        crowd.finish()
        crowdThread.end()
        throw error
      }
    }
    reckoning.watchCalm(clients: size)
    crowd.finish()
    crowdThread.end()
    try reckoning.settle()
    return Outcome(
      ledger: ledger, clients: size,
      refreshes: upstream.exchanges.count { $0.outcome == .granted }, leftOut: leftOut)
  }

  private func thread(_ body: @escaping @Sendable () -> Void) throws -> SystemThread {
    guard let thread = SystemThread.start(body) else {
      throw SystemError(operation: "start a thread", code: EAGAIN)
    }
    return thread
  }
}
