import Testing

@testable import DemoUpstream

@Suite(.timeLimit(.minutes(1)))
struct GzipBombTests {
  /// The same stream, put together bit by bit.
  private func deflated(periods: Int) -> [UInt8] {
    var bits = Array("11000110000" + String(repeating: "1100010100000", count: periods * 8))
    bits += "0000000"
    while bits.count % 8 != 0 { bits.append("0") }
    return stride(from: 0, to: bits.count, by: 8).map { start in
      UInt8(String(bits[start..<start + 8].reversed()), radix: 2) ?? 0
    }
  }

  @Test(arguments: [1, 2064, 2065, 10_000])
  func `every byte is where the format wants it`(unpacked: Int) {
    let count = GzipBomb.byteCount(unpacked: unpacked)
    let bytes = (0..<count).map { GzipBomb.byte(at: $0, of: count) }
    #expect(bytes.prefix(3) == [0x1F, 0x8B, 8])
    #expect(Array(bytes[10..<count - 8]) == deflated(periods: (unpacked + 2063) / 2064))
  }
}
