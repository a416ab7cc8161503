/// What `brewlog-demo-upstream` was asked for on its command line.
struct ProgramArguments: Equatable {
  var port: UInt16 = 0
  var accessLifetime: Duration? = .seconds(3600)
  var logFile: String?
  var wantsHelp = false

  struct UsageError: Error, Equatable {
    var message: String
  }

  init(_ arguments: [String]) throws(UsageError) {
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(parts[0])
      if ["-h", "--help"].contains(argument) {
        wantsHelp = true
        continue
      }
      guard ["--port", "--access-ttl", "--log"].contains(name) else {
        throw UsageError(message: "unknown argument \(argument); see --help")
      }
      guard let value = parts.count > 1 ? String(parts[1]) : rest.popFirst() else {
        throw UsageError(message: "\(name) needs a value")
      }
      try take(name, value)
    }
  }

  private mutating func take(_ name: String, _ value: String) throws(UsageError) {
    switch name {
    case "--port":
      guard let number = UInt16(value) else {
        throw UsageError(message: "--port needs a number from 0 (any) to 65535")
      }
      port = number
    case "--access-ttl":
      guard let seconds = Int32(value), seconds > 0 else {
        throw UsageError(message: "--access-ttl needs a number of seconds, 1 or more")
      }
      accessLifetime = .seconds(Int(seconds))
    default: logFile = value
    }
  }
}
