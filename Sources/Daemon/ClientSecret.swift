import Configuration
import Glibc
import Platform
import Secrets

/// The OAuth client's secret: the credential `brewlog.client-secret`, else `ClientSecretFile=`; never
/// an argument or the environment.
enum ClientSecret {
  /// Longer is not a secret but some other file.
  private static let longest = 4_096

  static func load(
    _ auth: DaemonConfiguration.Auth, credentialsDirectory: String?
  ) throws(DaemonGraph.Fault) -> Secret? {
    if let credentialsDirectory {
      let path = credentialsDirectory + "/brewlog.client-secret"
      if access(path, F_OK) == 0 { return try read(path) }
    }
    if let path = auth.clientSecretFile { return try read(path) }
    if let way = auth.clientAuthentication, way != .none {
      throw DaemonGraph.Fault(
        message: "[Auth] ClientAuthentication=\(way.rawValue) needs a secret: set "
          + "ClientSecretFile=, or give the credential brewlog.client-secret")
    }
    return nil
  }

  private static func read(_ path: String) throws(DaemonGraph.Fault) -> Secret {
    let raw = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard raw >= 0 else {
      throw fault(SystemError.last("read the client secret \(path)").description)
    }
    let file = FileDescriptor(owning: raw)
    // Read at once: a growing array would leave copies behind that nobody wipes.
    var bytes = [UInt8](repeating: 0, count: longest + 1)
    defer { wipe(&bytes) }
    let count = Glibc.read(file.rawValue, &bytes, bytes.count)
    guard count >= 0 else {
      throw fault(SystemError.last("read the client secret \(path)").description)
    }
    var end = count
    while end > 0, bytes[end - 1] == 0x0A || bytes[end - 1] == 0x0D { end -= 1 }
    guard (1...longest).contains(end), !bytes[..<end].contains(0x0A) else {
      throw fault("the client secret in \(path) must be one line of 1 to \(longest) bytes")
    }
    bytes.removeLast(bytes.count - end)
    do throws(SecretError) {
      return try Secret(copying: bytes)
    } catch {
      throw fault("no locked memory is left for the client secret; raise the memlock limit")
    }
  }

  private static func fault(_ message: String) -> DaemonGraph.Fault {
    DaemonGraph.Fault(message: message)
  }
}
