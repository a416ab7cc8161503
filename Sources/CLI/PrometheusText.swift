/// OpenMetrics as Prometheus' older text format (version 0.0.4), which `promtool check metrics` and
/// node_exporter's textfile collector read. There a counter's family has the suffix of its samples,
/// an info or a state set is a gauge, and units and the end mark do not exist; the samples are the
/// same.
enum PrometheusText {
  static func converted(_ openMetrics: String) -> String {
    var result = ""
    // The family that the next lines describe, and what its samples' names have behind it.
    var suffixes: [Substring: String] = [:]
    for line in openMetrics.split(separator: "\n") {
      let words = line.split(separator: " ", maxSplits: 3)
      guard line.hasPrefix("# "), words.count >= 2 else {
        result += line + "\n"
        continue
      }
      switch (words[1], words.count) {
      case ("TYPE", 4):
        suffixes[words[2]] = suffix(of: words[3])
        result += "# TYPE \(words[2])\(suffix(of: words[3])) \(type(of: words[3]))\n"
      case ("HELP", 4):
        result += "# HELP \(words[2])\(suffixes[words[2]] ?? "") \(words[3])\n"
      default: break
      }
    }
    return result
  }

  private static func suffix(of type: Substring) -> String {
    switch type {
    case "counter": "_total"
    case "info": "_info"
    default: ""
    }
  }

  private static func type(of type: Substring) -> Substring {
    type == "info" || type == "stateset" ? "gauge" : type
  }
}
