import JSON

@testable import Varlink

/// A client's bytes, fed whole and in pieces: the same calls begin, the same bytes are refused, and
/// each call but a oneway one is answered once and in its turn, in whatever order they end.
enum MessagesTarget {
  private static let limits: Limits = {
    var limits = Limits()
    limits.maxMessageBytes = 1024
    limits.maxPendingCalls = 4
    limits.maxUnreadBytes = 4096
    limits.maxDepth = 8
    return limits
  }()

  private struct Outcome: Equatable {
    var calls: [Call] = []
    var violation: MalformedMessage?
  }

  /// The first two bytes choose the pieces and the order of the answers.
  static func run(_ bytes: ArraySlice<UInt8>) {
    guard let piece = bytes.first, let order = bytes.dropFirst().first else { return }
    let stream = Array(bytes.dropFirst(2))
    let whole = play(stream, piece: stream.count, order: 0)
    let pieces = play(stream, piece: Int(piece), order: order)
    precondition(whole == pieces, "the pieces change what is understood")
  }

  private static func play(_ stream: [UInt8], piece: Int, order: UInt8) -> Outcome {
    var machine = ConnectionMachine(limits: limits)
    var known = PreparedCalls { _ in nil }
    var outcome = Outcome()
    var open: [ConnectionMachine.Slot] = []
    var output: [UInt8] = []
    var awaited = 0
    var rest = stream[...]
    while true {
      switch machine.next(&known) {
      case .begin(let slot, let call):
        outcome.calls.append(call)
        if case .awaited = slot { awaited += 1 }
        open.append(slot)
        precondition(machine.pendingCalls <= limits.maxPendingCalls)
        if order == 0 || open.count == limits.maxPendingCalls {
          answer(&open, on: &machine, order)
        }
        continue
      case .answer: preconditionFailure("nothing was prepared")
      case .violation(let fault): outcome.violation = fault
      case .wait:
        precondition(!machine.canStep, "there is something to do, and it waits")
        if !open.isEmpty {
          answer(&open, on: &machine, order)
          continue
        }
        if machine.hasOutput {
          machine.takeOutput { bytes in
            output += bytes
            return bytes.count
          }
          continue
        }
        precondition(machine.wantsInput, "nothing is under way, and it does not read")
        if let taken = take(&rest, piece) {
          machine.receive(taken)
          continue
        }
        machine.endInput()
        precondition(machine.isDone, "all is answered, and it is not done")
      }
      break
    }
    while !open.isEmpty { answer(&open, on: &machine, order) }
    machine.takeOutput { bytes in
      output += bytes
      return bytes.count
    }
    check(output, awaited: awaited)
    return outcome
  }

  private static func take(_ rest: inout ArraySlice<UInt8>, _ piece: Int) -> [UInt8]? {
    if rest.isEmpty { return nil }
    let taken = Array(rest.prefix(max(1, piece)))
    rest = rest.dropFirst(taken.count)
    return taken
  }

  private static func answer(
    _ open: inout [ConnectionMachine.Slot], on machine: inout ConnectionMachine, _ order: UInt8
  ) {
    let slot = open.remove(at: Int(order) % open.count)
    if case .awaited(let number) = slot {
      if order & 0x40 != 0 { try? machine.send(Array("{\"n\":\(number)}".utf8), on: slot) }
      machine.finish(slot, with: .success(Array("{\"n\":\(number)}".utf8)))
    } else {
      machine.finish(slot, with: .success(Array("{}".utf8)))
    }
    // Answered for good: a second answer is nobody's.
    machine.finish(.awaited(.max), with: .success(Array("{}".utf8)))
  }

  /// Each awaited call has its last reply once, in order; a refused upgrade has one of its own.
  private static func check(_ output: [UInt8], awaited: Int) {
    var decoder = FrameDecoder(maxMessageBytes: .max - 1)
    decoder.append(output)
    var last: Int64 = -1
    var answered = 0
    while let message = try? decoder.next() {
      guard let reply = try? Envelope.decodeReply(message, maxDepth: 8) else {
        preconditionFailure("a reply that is none")
      }
      if let error = reply.error {
        precondition(error == "org.varlink.service.MethodNotImplemented", "an error from nowhere")
        continue
      }
      let number = reply.parameters["n"]?.integer ?? -1
      precondition(number >= last, "replies out of order")
      if !reply.continues {
        precondition(number > last || answered == 0, "a call answered twice")
        answered += 1
        last = number
      }
    }
    precondition(decoder.isEmpty, "half a reply")
    precondition(answered == awaited, "a call without its reply")
  }
}
