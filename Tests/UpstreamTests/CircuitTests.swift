import Execution
import Requests
import Testing

/// The circuit of contract/upstream.md: three failures in a row, then one probe now and then.
@Suite(.timeLimit(.minutes(1)))
struct CircuitTests {
  private static let start = Instant(nanoseconds: 1_000_000_000_000)
  private func at(_ seconds: Int64) -> Instant { Self.start.advanced(by: .seconds(seconds)) }

  private func opened() -> Circuit {
    var circuit = Circuit()
    for _ in 0..<3 { _ = circuit.fail(now: Self.start, asked: nil) }
    return circuit
  }

  @Test func `two failures change nothing, the third opens it`() {
    var circuit = Circuit()
    #expect(circuit.fail(now: at(0), asked: nil) == nil)
    #expect(circuit.fail(now: at(0), asked: nil) == nil)
    #expect(circuit.admit(now: at(0)) == .go)
    #expect(circuit.fail(now: at(0), asked: nil) == .opened)
    #expect(circuit.admit(now: at(0)) == .wait(.seconds(1)))
    #expect(!circuit.isClosed)
  }

  @Test func `an answer in between breaks the row`() {
    var circuit = Circuit()
    for _ in 0..<10 {
      _ = circuit.fail(now: at(0), asked: nil)
      _ = circuit.fail(now: at(0), asked: nil)
      #expect(circuit.succeed() == nil)
    }
    #expect(circuit.isClosed)
  }

  @Test func `probes come after 1, 2, 4 seconds and so on, at most five minutes`() {
    var circuit = opened()
    var now = Self.start
    var pauses: [Int] = []
    for _ in 0..<12 {
      guard case .wait(let pause) = circuit.admit(now: now) else {
        Issue.record("let through")
        return
      }
      pauses.append(pause.secondsRoundedUp)
      now = now.advanced(by: pause)
      #expect(circuit.admit(now: now) == .go)
      // One alone.
      #expect(circuit.admit(now: now) != .go)
      #expect(circuit.fail(now: now, asked: nil) == nil)
    }
    #expect(pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300])
  }

  @Test func `a probe that is answered closes it, and the next failures count anew`() {
    var circuit = opened()
    #expect(circuit.admit(now: at(1)) == .go)
    #expect(circuit.succeed() == .closed)
    #expect(circuit.fail(now: at(2), asked: nil) == nil)
    #expect(circuit.admit(now: at(2)) == .go)
  }

  @Test func `a wait that was asked for opens it at once, for an hour at most`() {
    var circuit = Circuit()
    #expect(circuit.fail(now: at(0), asked: .seconds(30)) == .opened)
    #expect(circuit.admit(now: at(29)) == .wait(.seconds(1)))
    #expect(circuit.admit(now: at(30)) == .go)
    var patient = Circuit()
    _ = patient.fail(now: at(0), asked: .seconds(1_000_000_000))
    #expect(patient.nextProbe == at(3_600))
    var impatient = Circuit()
    _ = impatient.fail(now: at(0), asked: .zero)
    #expect(impatient.nextProbe == at(1))
  }

  @Test func `a failure from before it opened does not shorten the wait`() {
    var circuit = Circuit()
    _ = circuit.fail(now: at(0), asked: .seconds(60))
    _ = circuit.fail(now: at(1), asked: nil)
    #expect(circuit.nextProbe == at(60))
    _ = circuit.fail(now: at(1), asked: .seconds(5))
    #expect(circuit.nextProbe == at(60))
    _ = circuit.fail(now: at(1), asked: .seconds(100))
    #expect(circuit.nextProbe == at(101))
  }

  @Test func `a probe that is given up is made up for at once, a silent one after a minute`() {
    var circuit = opened()
    #expect(circuit.admit(now: at(1)) == .go)
    circuit.giveUp(now: at(2))
    #expect(circuit.admit(now: at(2)) == .go)
    #expect(circuit.admit(now: at(61)) == .wait(.seconds(1)))
    #expect(circuit.admit(now: at(62)) == .go)
    var closed = Circuit()
    closed.giveUp(now: at(0))
    #expect(closed.isClosed)
  }

  @Test func `a change of the network lets the next one through`() {
    var circuit = opened()
    for second in 1..<9 {
      #expect(circuit.admit(now: at(1 << Int64(second))) == .go)
      _ = circuit.fail(now: at(1 << Int64(second)), asked: nil)
    }
    circuit.probeNow(now: at(260))
    #expect(circuit.admit(now: at(260)) == .go)
    _ = circuit.fail(now: at(260), asked: nil)
    #expect(circuit.nextProbe == at(560))
  }

  /// A wait that the upstream has asked for holds on every network.
  @Test func `a change of the network breaks no wait that was asked for`() {
    var circuit = Circuit()
    _ = circuit.fail(now: at(0), asked: .seconds(300))
    circuit.probeNow(now: at(10))
    #expect(circuit.admit(now: at(299)) == .wait(.seconds(1)))
    #expect(circuit.admit(now: at(300)) == .go)

    // The pause of the circuit's own is over for the change, the shorter wait is not.
    var probed = opened()
    for second in 1..<9 {
      #expect(probed.admit(now: at(1 << Int64(second))) == .go)
      _ = probed.fail(now: at(1 << Int64(second)), asked: second == 8 ? .seconds(20) : nil)
    }
    #expect(probed.nextProbe == at(512))
    probed.probeNow(now: at(260))
    #expect(probed.nextProbe == at(276))

    // A late failure that names a longer wait counts as well.
    var late = opened()
    _ = late.fail(now: at(0), asked: .seconds(30))
    late.probeNow(now: at(1))
    #expect(late.nextProbe == at(30))
  }
}
