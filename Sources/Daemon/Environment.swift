import FoundationEssentials

/// The process's environment, read once. No secret is ever taken from it.
enum Environment {
  static var present: [String: String] { ProcessInfo.processInfo.environment }
}
