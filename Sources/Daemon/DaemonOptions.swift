import Configuration

/// What the command line asks of the daemon.
struct DaemonOptions: Equatable {
  enum Action: Equatable {
    case run, checkConfiguration, help, version
    /// Another master key; `recoveryKeyFile` opens the store where the present one is lost.
    case rekey
    case addRecoveryKey(file: String)
  }

  var action = Action.run
  var configurationFile: String?
  var isUser = false
  var instance: String?
  var recoveryKeyFile: String?

  /// Why a command line cannot be used, and what to do.
  struct UsageError: Error, Equatable {
    var message: String
  }

  static let help = """
    usage: brewlogd [--config FILE] [--user] [--instance NAME]
                    [--check-config] [--rekey [--recovery-key FILE]]
                    [--add-recovery-key FILE] [--version] [--help]

    Keeps one signed-in session with an HTTP API and serves its tips on a Unix socket.
    Runs in the foreground and logs to standard error.

      --config FILE     read this file alone instead of the usual places
      --user            take the per-user places instead of the system's
      --instance NAME   one of several accounts on this host
      --check-config    check the configuration, print what is wrong, and end
      --rekey           give the store a new master key, and end; no daemon may run on it
      --recovery-key FILE
                        open the store for that by this key, where the master key is lost
      --add-recovery-key FILE
                        write a further key to a new file, to be kept elsewhere, and end
      --version         print the version
      --help            print this

    """

  static func parse(_ arguments: [String]) throws(UsageError) -> DaemonOptions {
    var options = DaemonOptions()
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(parts[0])
      switch name {
      case "--config":
        options.configurationFile = try value(of: name, parts, &rest)
      case "--instance":
        let instance = try value(of: name, parts, &rest)
        guard ConfigurationSource.isInstanceName(instance) else {
          throw UsageError(
            message: "--instance \(instance): a name has 1 to 64 letters, digits, `-`, `_` or `.`, "
              + "and does not begin with a dot")
        }
        options.instance = instance
      case "--user": options.isUser = true
      case "--check-config": options.action = .checkConfiguration
      case "--rekey": options.action = .rekey
      case "--recovery-key": options.recoveryKeyFile = try value(of: name, parts, &rest)
      case "--add-recovery-key":
        options.action = .addRecoveryKey(file: try value(of: name, parts, &rest))
      case "--version": options.action = .version
      case "--help", "-h": options.action = .help
      default:
        throw UsageError(message: "\(argument): no such option; `brewlogd --help` lists them")
      }
    }
    if options.recoveryKeyFile != nil, options.action != .rekey {
      throw UsageError(message: "--recovery-key is for --rekey")
    }
    return options
  }

  private static func value(
    of name: String, _ parts: [Substring], _ rest: inout ArraySlice<String>
  ) throws(UsageError) -> String {
    let value = parts.count > 1 ? String(parts[1]) : rest.popFirst() ?? ""
    guard !value.isEmpty else { throw UsageError(message: "\(name) needs a value") }
    return value
  }
}
