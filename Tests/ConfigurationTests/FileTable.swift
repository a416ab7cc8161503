import Configuration

/// Files that exist in a test alone.
struct FileTable {
  var files: [String: String] = [:]
  var unreadable: Set<String> = []

  var port: ConfigurationFiles {
    let (files, unreadable) = (files, unreadable)
    return ConfigurationFiles(
      read: { path in
        if unreadable.contains(path) { return .unreadable("permission denied") }
        return files[path].map { .bytes(Array($0.utf8)) } ?? .missing
      },
      list: { directory in
        if unreadable.contains(directory) { return .unreadable("permission denied") }
        let names = files.keys.compactMap { path -> String? in
          guard path.hasPrefix(directory + "/") else { return nil }
          let name = path.dropFirst(directory.count + 1)
          return name.contains("/") ? nil : String(name)
        }
        return names.isEmpty ? .missing : .names(names)
      })
  }
}

let mainFile = "/etc/brewlog/brewlogd.conf"

func load(
  _ table: FileTable, scope: ConfigurationSource.Scope = .system, instance: String? = nil,
  environment: [String: String] = [:]
) throws(ConfigurationError) -> DaemonConfiguration {
  try .load(
    from: ConfigurationSource(scope: scope, instance: instance, environment: environment),
    files: table.port)
}

/// One file with these lines, and what is needed besides.
func load(_ text: String) throws(ConfigurationError) -> DaemonConfiguration {
  try load(FileTable(files: [mainFile: "[Upstream]\nBaseURL=http://127.0.0.1:1\n" + text]))
}

/// The problems of such a file, one a line, without its name.
func problems(_ text: String) -> [String] {
  do throws(ConfigurationError) {
    _ = try load(text)
    return []
  } catch {
    return error.problems.map { problem in
      let line = problem.description
      return line.hasPrefix(mainFile + ":") ? String(line.dropFirst(mainFile.count + 1)) : line
    }
  }
}
