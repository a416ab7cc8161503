/// Finds the files of a configuration and makes one of them.
struct ConfigurationLoader {
  let source: ConfigurationSource
  let files: ConfigurationFiles
  private var problems: [ConfigurationError.Problem] = []

  init(source: ConfigurationSource, files: ConfigurationFiles) {
    self.source = source
    self.files = files
  }

  /// The texts in the order in which they override each other, and what could not be read.
  mutating func texts() -> (texts: [ConfigurationText], problems: [ConfigurationError.Problem]) {
    var texts: [ConfigurationText] = []
    if let file = source.file {
      if let text = text(at: file, mustExist: true) { texts.append(text) }
    } else {
      for name in source.fileNames {
        texts += mainFile(name).map { [$0] } ?? []
        texts += dropIns(name)
      }
    }
    return (texts, problems)
  }

  /// Of the main file, only the one of the highest precedence counts.
  private mutating func mainFile(_ name: String) -> ConfigurationText? {
    for directory in source.configurationDirectories {
      if let text = text(at: "\(directory)/\(name)", mustExist: false) { return text }
    }
    return nil
  }

  /// Drop-ins of all directories count, sorted by their names; of two with the same name the one
  /// of the higher precedence masks the other.
  private mutating func dropIns(_ name: String) -> [ConfigurationText] {
    var paths: [String: String] = [:]
    for directory in source.configurationDirectories {
      let path = "\(directory)/\(name).d"
      switch files.list(path) {
      case .names(let names):
        for entry in names where entry.hasSuffix(".conf") && !entry.hasPrefix(".") {
          if paths[entry] == nil { paths[entry] = "\(path)/\(entry)" }
        }
      case .missing: break
      case .unreadable(let reason): report(path, "it cannot be listed: \(reason)")
      }
    }
    return paths.sorted { Array($0.key.utf8).lexicographicallyPrecedes(Array($1.key.utf8)) }
      .compactMap { text(at: $0.value, mustExist: false) }
  }

  private mutating func text(at path: String, mustExist: Bool) -> ConfigurationText? {
    switch files.read(path) {
    case .bytes(let bytes): return ConfigurationText(bytes, file: path)
    case .missing:
      if mustExist { report(path, "there is no such file") }
      return nil
    case .unreadable(let reason):
      report(path, "it cannot be read: \(reason)")
      // In its place, so that none of lower precedence is taken instead.
      return ConfigurationText([], file: path)
    }
  }

  private mutating func report(_ path: String, _ message: String) {
    problems.append(.init(file: path, line: nil, key: nil, message: message))
  }
}
