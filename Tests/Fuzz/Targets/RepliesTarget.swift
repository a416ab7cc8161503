import BrewlogAPI
import JSON

@testable import Varlink

/// A server's bytes as `brewlogctl` takes them: framed in pieces, decoded, and read as every reply.
enum RepliesTarget {
  static func run(_ bytes: ArraySlice<UInt8>) {
    guard let piece = bytes.first, let kind = bytes.dropFirst().first else { return }
    var decoder = FrameDecoder(maxMessageBytes: 4096)
    var rest = bytes.dropFirst(2)
    while !rest.isEmpty {
      decoder.append(Array(rest.prefix(max(1, Int(piece)))))
      rest = rest.dropFirst(max(1, Int(piece)))
      do {
        while let message = try decoder.next() { read(message, kind) }
      } catch {
        return
      }
    }
  }

  private static func read(_ message: [UInt8], _ kind: UInt8) {
    guard let reply = try? Envelope.decodeReply(message, maxDepth: 64) else { return }
    if let name = reply.error {
      let error = VarlinkError(name: name, parameters: reply.parameters)
      let known = APIError(error)
      // What is known is what it was, in the parameters that the contract names.
      precondition(known.varlinkError.name == name, "an error changed its name")
      return
    }
    let text = Envelope.text(of: reply.parameters)
    guard let again = try? MessageParser.object(in: text, maxDepth: 64) else {
      preconditionFailure("what was read cannot be written")
    }
    precondition(again.keys.sorted() == reply.parameters.keys.sorted(), "members got lost")
    decode(text, kind)
  }

  /// As the reply that the second byte chooses.
  private static func decode(_ text: [UInt8], _ kind: UInt8) {
    func read<Value: Decodable>(_ type: Value.Type) { _ = try? JSONText.decode(type, from: text) }
    switch kind % 16 {
    case 0: read(StatusReply.self)
    case 1: read(InspectReply.self)
    case 2: read(SessionReply.self)
    case 3: read(LogoutReply.self)
    case 4: read(Entry.self)
    case 5: read(ListReply.self)
    case 6: read(HealthReply.self)
    case 7: read(WatchReply.self)
    case 8: read(HistoryReply.self)
    case 9: read(ExplainReply.self)
    case 10: read(ConfigurationReply.self)
    case 11: read(CanIReply.self)
    case 12: read(LoginReply.self)
    case 13: read(VerifyErasureReply.self)
    case 14: read(MetricsReply.self)
    default: read(ReloadReply.self)
    }
  }
}
