import Testing
import Varlink

@Suite(.timeLimit(.minutes(1)))
struct FrameDecoderTests {
  private func frames(
    _ chunks: [[UInt8]], maxMessageBytes: Int = 100
  ) throws -> [String] {
    var decoder = FrameDecoder(maxMessageBytes: maxMessageBytes)
    var frames: [String] = []
    for chunk in chunks {
      decoder.append(chunk)
      while let frame = try decoder.next() { frames.append(String(decoding: frame, as: UTF8.self)) }
    }
    return frames
  }

  @Test func `a stream split at any byte decodes alike`() throws {
    let stream = Array("{\"a\":1}\0\0{}\0äöü\0".utf8)
    let whole = try frames([stream])
    #expect(whole == ["{\"a\":1}", "", "{}", "äöü"])
    for split in 0...stream.count {
      for second in split...stream.count {
        let chunks = [stream[..<split], stream[split..<second], stream[second...]].map(Array.init)
        #expect(try frames(chunks) == whole)
      }
    }
  }

  @Test func `a stream fed byte by byte decodes alike`() throws {
    let stream = Array("one\0two\0three\0".utf8)
    #expect(try frames(stream.map { [$0] }) == ["one", "two", "three"])
  }

  @Test func `bytes without an end are no frame`() throws {
    #expect(try frames([Array("half".utf8)]) == [])
  }

  @Test(arguments: [0, 1, 99, 100])
  func `a frame up to the bound is taken`(length: Int) throws {
    let frame = String(repeating: "x", count: length)
    #expect(try frames([Array(frame.utf8) + [0]]) == [frame])
  }

  @Test func `a frame past the bound is refused with its end and without`() {
    let bytes = [UInt8](repeating: 1, count: 101)
    #expect(throws: FrameTooLong.self) { try frames([bytes]) }
    #expect(throws: FrameTooLong.self) { try frames([bytes + [0]]) }
    #expect(throws: FrameTooLong.self) { try frames(bytes.map { [$0] }) }
  }

  @Test func `frames before one past the bound are still given`() throws {
    var decoder = FrameDecoder(maxMessageBytes: 3)
    decoder.append(Array("abc\0abcd\0".utf8))
    #expect(try decoder.next() == Array("abc".utf8))
    #expect(throws: FrameTooLong.self) { try decoder.next() }
  }
}
