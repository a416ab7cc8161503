import FoundationEssentials

/// The project's own files, as the tests that hold its rules read them.
enum Repository {
  /// Three levels up from this file.
  static let root: String = {
    var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    parts.removeLast(3)
    return parts.joined(separator: "/")
  }()

  /// Paths below `folder` whose names end so, relative to the root, sorted.
  static func files(in folder: String, endings: [String]) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: root + "/" + folder)
      .filter { name in endings.contains { name.hasSuffix($0) } }
      .map { folder + "/" + $0 }
      .sorted()
  }

  static func text(_ path: String) -> String? {
    FileManager.default.contents(atPath: root + "/" + path)
      .map { String(decoding: $0, as: UTF8.self) }
  }

  static func exists(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: root + "/" + path)
  }

  /// The lines of a Swift file that are not comments, with their numbers.
  static func code(_ path: String) -> [(number: Int, text: Substring)] {
    (text(path) ?? "").split(separator: "\n", omittingEmptySubsequences: false).enumerated()
      .map { ($0 + 1, $1) }
      .filter { !$0.1.drop { $0 == " " }.hasPrefix("//") }
  }
}
