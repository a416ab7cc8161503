import BrewlogAPI
import Execution

/// A chronicle drawn in characters: one lane for each thing, one column for each stretch of time.
struct HistoryPlot {
  let chronicle: SessionChronicle
  let words: Words
  let appearance: Appearance

  static let label = 11
  private static let widest = 160

  private struct Lane {
    let name: String
    var cells: [(glyph: String, tone: Tone)]
    let isEmpty: Bool
  }

  private var columns: Int { max(10, min(appearance.width, Self.widest) - Self.label) }

  /// What stands for what.
  private var glyphs: (session: String, one: String, other: String, mixed: String, away: String) {
    appearance.unicode ? ("━", "█", "▒", "▓", "░") : ("=", "#", "-", "%", "~")
  }

  var lines: [StyledText] {
    var lines = lanes.map { lane in
      let head = StyledText(TextLayout.pad(lane.name, to: Self.label), .faint)
      return lane.isEmpty ? head + StyledText("none", .faint) : head + Self.styled(lane.cells)
    }
    lines.append(StyledText(TextLayout.pad("", to: Self.label)) + StyledText(axis, .faint))
    return lines
  }

  /// What the characters mean, for who sees them for the first time.
  var legend: String {
    let (_, one, other, _, away) = glyphs
    return "each change of \(one) and \(other) is a new access token; digits count; \(away) is away"
  }

  private var lanes: [Lane] {
    var lanes = [
      sessionLane, tokenLane,
      counts("refreshes", chronicle.rotations, .good),
      counts("failures", chronicle.failures, .bad),
      spans("outages", chronicle.outages, .warning),
    ]
    if !chronicle.lateResults.isEmpty {
      lanes.append(counts("kept out", chronicle.lateResults, .warning))
    }
    if !chronicle.degradations.isEmpty {
      lanes.append(spans("store", chronicle.degradations, .bad))
    }
    return lanes
  }

  private var sessionLane: Lane {
    var lane = spans("session", chronicle.sessions, .good, glyph: glyphs.session)
    for session in chronicle.sessions {
      if session.hasBeginning, session.start >= chronicle.start {
        lane.cells[column(session.start)] = (appearance.unicode ? "●" : "o", .good)
      }
      if let end = session.end, end >= chronicle.start {
        lane.cells[column(end)] = (appearance.unicode ? "○" : "x", .warning)
      }
    }
    return lane
  }

  private var tokenLane: Lane {
    var cells = blank
    var changes = [Int](repeating: 0, count: columns)
    for (index, token) in chronicle.tokens.enumerated() {
      guard let range = range(token) else { continue }
      if token.hasBeginning { changes[range.lowerBound] += 1 }
      for column in range {
        cells[column] = (index.isMultiple(of: 2) ? glyphs.one : glyphs.other, .accent)
      }
    }
    for (column, count) in changes.enumerated() where count > 1 {
      cells[column] = (glyphs.mixed, .accent)
    }
    return Lane(name: "tokens", cells: cells, isEmpty: chronicle.tokens.isEmpty)
  }

  private func counts(
    _ name: String, _ moments: [SessionChronicle.Moment], _ tone: Tone
  ) -> Lane {
    var counts = [Int](repeating: 0, count: columns)
    for moment in moments where moment.at >= chronicle.start { counts[column(moment.at)] += 1 }
    let cells = counts.map { count -> (String, Tone) in
      (count == 0 ? " " : count > 9 ? "+" : String(count), tone)
    }
    return Lane(name: name, cells: cells, isEmpty: counts.allSatisfy { $0 == 0 })
  }

  private func spans(
    _ name: String, _ spans: [SessionChronicle.Span], _ tone: Tone, glyph: String? = nil
  ) -> Lane {
    var cells = blank
    let ranges = spans.compactMap(range)
    for column in ranges.joined() { cells[column] = (glyph ?? glyphs.away, tone) }
    return Lane(name: name, cells: cells, isEmpty: ranges.isEmpty)
  }

  private var blank: [(glyph: String, tone: Tone)] {
    [(String, Tone)](repeating: (" ", .plain), count: columns)
  }

  /// Nil: it is over before the picture begins.
  private func range(_ span: SessionChronicle.Span) -> ClosedRange<Int>? {
    let end = span.end ?? chronicle.end
    if end < chronicle.start { return nil }
    let first = column(max(span.start, chronicle.start))
    return first...max(first, column(end))
  }

  private func column(_ at: Int64) -> Int {
    let whole = chronicle.end - chronicle.start
    if whole <= 0 { return 0 }
    let share = Double(at - chronicle.start) / Double(whole)
    return min(columns - 1, max(0, Int(share * Double(columns))))
  }

  /// Times under their columns: the beginning, and as many more as have room.
  private var axis: String {
    let whole = chronicle.end - chronicle.start
    var text = ""
    let labels = columns >= 60 ? 4 : 2
    for index in 0...labels {
      let at = chronicle.start + whole * Int64(index) / Int64(labels)
      let label = time(at, whole)
      let place =
        index == labels
        ? columns - label.count : columns * index / labels
      if index > 0, place < text.count + 2 { continue }
      text = TextLayout.pad(text, to: place) + label
    }
    return text
  }

  private func time(_ at: Int64, _ whole: Int64) -> String {
    let text = words.second(Timestamps.text(WallTime(milliseconds: at)))
    switch whole {
    case ..<600_000: return String(text.suffix(8))
    case ..<86_400_000: return String(text.suffix(8).prefix(5))
    case ..<(14 * 86_400_000): return String(text.dropFirst(5).prefix(11))
    default: return String(text.prefix(10))
    }
  }

  /// Neighbours of one tone as one run: fewer bytes to the terminal.
  private static func styled(_ cells: [(glyph: String, tone: Tone)]) -> StyledText {
    var result = StyledText("")
    var run = ""
    var tone = Tone.plain
    let last = cells.lastIndex { $0.glyph != " " } ?? -1
    for cell in cells.prefix(last + 1) {
      if cell.tone != tone, !run.isEmpty {
        result = result + StyledText(run, tone)
        run = ""
      }
      tone = cell.tone
      run += cell.glyph
    }
    return result + StyledText(run, tone)
  }
}
