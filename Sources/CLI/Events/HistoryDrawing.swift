import BrewlogAPI
import Execution

/// A chronicle as an SVG file, for a report: the same lanes, with what happened where on hovering.
struct HistoryDrawing {
  let chronicle: SessionChronicle
  let words: Words
  let title: String

  private static let width = 960
  private static let left = 110
  private static let laneHeight = 34

  private var lanes: [(name: String, shapes: [String])] {
    [
      ("session", chronicle.sessions.map { bar($0, "session") }),
      (
        "tokens",
        chronicle.tokens.enumerated().map {
          bar($1, $0.isMultiple(of: 2) ? "token" : "token other")
        }
      ),
      ("refreshes", chronicle.rotations.map { mark($0, "good") }),
      ("failures", chronicle.failures.map { mark($0, "bad") }),
      ("outages", chronicle.outages.map { bar($0, "away") }),
      ("kept out", chronicle.lateResults.map { mark($0, "away") }),
      ("store", chronicle.degradations.map { bar($0, "bad") }),
    ].filter { lane in
      !lane.shapes.isEmpty || ["session", "tokens", "refreshes"].contains(lane.name)
    }
  }

  var text: String {
    let lanes = lanes
    let top = 56
    let bottom = top + lanes.count * Self.laneHeight
    let height = bottom + 44 + 20 * chronicle.sentences.count
    var parts = [
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 \(Self.width) \(height)\" "
        + "width=\"\(Self.width)\" height=\"\(height)\" role=\"img\">",
      "<title>\(escaped(title))</title>", Self.style,
      "<rect class=\"paper\" width=\"\(Self.width)\" height=\"\(height)\"/>",
      "<text class=\"title\" x=\"16\" y=\"32\">\(escaped(title))</text>",
    ]
    for (index, lane) in lanes.enumerated() {
      let y = top + index * Self.laneHeight
      parts.append(
        "<g transform=\"translate(0 \(y))\"><text class=\"label\" x=\"16\" y=\"16\">\(lane.name)"
          + "</text>\(lane.shapes.joined())</g>")
    }
    for index in 0...4 {
      let at = chronicle.start + (chronicle.end - chronicle.start) * Int64(index) / 4
      let x = self.x(at)
      let anchor = index == 0 ? "start" : index == 4 ? "end" : "middle"
      parts.append(
        "<path class=\"grid\" d=\"M\(x) \(top - 6)V\(bottom)\"/><text class=\"axis\" x=\"\(x)\" "
          + "y=\"\(bottom + 16)\" text-anchor=\"\(anchor)\">\(moment(at))</text>")
    }
    for (index, sentence) in chronicle.sentences.enumerated() {
      parts.append(
        "<text class=\"label\" x=\"16\" y=\"\(bottom + 44 + 20 * index)\">\(escaped(sentence))"
          + "</text>")
    }
    return parts.joined(separator: "\n") + "\n</svg>\n"
  }

  private func bar(_ span: SessionChronicle.Span, _ kind: String) -> String {
    let (from, to) = (x(span.start), x(span.end ?? chronicle.end))
    let until = span.end.map(moment) ?? "now"
    return "<rect class=\"\(kind)\" x=\"\(from)\" width=\"\(max(1, to - from))\" height=\"22\" "
      + "rx=\"2\"><title>\(escaped("\(moment(span.start)) to \(until): \(span.note)"))"
      + "</title></rect>"
  }

  private func mark(_ event: SessionChronicle.Moment, _ kind: String) -> String {
    let note = event.note.isEmpty ? "" : ": " + event.note
    return "<circle class=\"\(kind)\" cx=\"\(x(event.at))\" cy=\"11\" r=\"4\">"
      + "<title>\(escaped(moment(event.at) + note))</title></circle>"
  }

  private func x(_ at: Int64) -> Int {
    let whole = max(1, chronicle.end - chronicle.start)
    let room = Self.width - Self.left - 24
    return Self.left + Int(Double(at - chronicle.start) / Double(whole) * Double(room))
  }

  private func moment(_ at: Int64) -> String {
    words.second(Timestamps.text(WallTime(milliseconds: at)))
  }

  /// Foreign words in a file that a browser opens: no tag, no control character (I10).
  private func escaped(_ text: String) -> String {
    DisplayText.line(text).map { character in
      switch character {
      case "&": "&amp;"
      case "<": "&lt;"
      case ">": "&gt;"
      case "\"": "&quot;"
      default: String(character)
      }
    }.joined()
  }

  private static let style = """
    <style>
    text { font: 13px system-ui, sans-serif; fill: #222 } .title { font-size: 17px }
    .paper { fill: #fff } .axis { font-size: 11px; fill: #666 } .grid { stroke: #ddd }
    .session { fill: #5a8f3c } .token { fill: #2f6f9f } .other { fill: #8fbcd9 }
    .good { fill: #5a8f3c } .bad { fill: #b3261e } .away { fill: #c98a1b }
    @media (prefers-color-scheme: dark) {
    text { fill: #ddd } .paper { fill: #16181c } .axis { fill: #999 } .grid { stroke: #333 } }
    </style>
    """
}
