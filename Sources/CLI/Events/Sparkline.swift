/// A row of numbers as a row of bars, the highest one character high.
enum Sparkline {
  static func text(_ values: [Int64], width: Int, unicode: Bool) -> String {
    let steps = unicode ? Array("▁▂▃▄▅▆▇█") : Array("_.-~=+*#")
    let shown = values.suffix(width)
    guard let highest = shown.max() else { return "" }
    return String(
      shown.map { value in
        highest <= 0
          ? steps[0] : steps[min(steps.count - 1, Int(value * Int64(steps.count) / (highest + 1)))]
      })
  }
}
