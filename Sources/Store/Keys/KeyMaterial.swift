import Glibc
import Platform
import Secrets

/// Where the master key comes from.
enum KeySource: Equatable {
  case credential(path: String)
  case file(path: String)

  var path: String {
    switch self {
    case .credential(let path), .file(let path): path
    }
  }

  /// How Inspect names it.
  var description: String {
    switch self {
    case .credential: "the credential \(FileName.credential)"
    case .file(let path): "the key file \(path)"
    }
  }

  /// The credential where there is one, else the key file, there or not.
  static func inForce(_ configuration: StoreConfiguration, in directory: String) -> KeySource {
    if let credentials = configuration.credentialsDirectory {
      let path = credentials + "/" + FileName.credential
      if access(path, F_OK) == 0 { return .credential(path: path) }
    }
    return .file(path: keyFile(configuration, in: directory))
  }

  /// Every place that may hold a key of this store, the one in force first.
  static func all(_ configuration: StoreConfiguration, in directory: String) -> [KeySource] {
    let path = keyFile(configuration, in: directory)
    var sources: [KeySource] = [.file(path: path), .file(path: path + KeyMaterial.successor)]
    let first = inForce(configuration, in: directory)
    if case .credential = first { sources.insert(first, at: 0) }
    return sources
  }

  private static func keyFile(_ configuration: StoreConfiguration, in directory: String) -> String {
    configuration.keyFile ?? directory + "/" + FileName.masterKey
  }
}

/// Reading and making master keys: random bytes in a file, of any length from 16 on.
package enum KeyMaterial {
  static let longest = 4096
  package static let shortest = 16
  /// What a key file's name has at its end until it takes the old one's place.
  static let successor = ".new"

  /// Nil where there is no file.
  static func read(_ source: KeySource, warnings: inout [String]) throws(StoreOpenError) -> Secret?
  {
    let path = source.path
    let raw = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard raw >= 0 else {
      if errno == ENOENT { return nil }
      throw .keyMissing(SystemError.last("open \(source.description)").description)
    }
    let file = FileDescriptor(owning: raw)
    try narrow(file.rawValue, source, &warnings)
    var count = 0
    let material: Secret
    do throws(SecretError) {
      let room = try Secret(count: longest) { memory in
        while count < memory.count {
          let got = Glibc.read(
            file.rawValue, memory.baseAddress.map { $0 + count }, memory.count - count)
          if got < 0, errno == EINTR { continue }
          if got <= 0 { return }
          count += got
        }
      }
      material = try room.withBytes { (bytes) throws(SecretError) in
        try Secret(copying: bytes.prefix(count))
      }
    } catch {
      throw .unusable("no locked memory for the master key: raise LimitMEMLOCK=")
    }
    guard material.count >= shortest else {
      throw .keyWrong(
        "\(source.description) holds \(count) bytes, which is no key (at least \(shortest)): "
          + "restore it")
    }
    return material
  }

  /// Makes the first key file. It gets its name only when it is whole: a crash while it is made
  /// must not leave an empty one, which no later start could use.
  static func makeFirst(at path: String) throws(StoreOpenError) -> Secret {
    let key = try make(at: path + successor, replacing: true)
    try promote(path)
    return key
  }

  /// Makes a new key file; its content and its name are durable before it is used.
  static func make(at path: String, replacing: Bool = false) throws(StoreOpenError) -> Secret {
    if replacing { unlink(path) }
    guard let key = try? Secret.random(count: 32) else {
      throw .unusable("no locked memory for the master key: raise LimitMEMLOCK=")
    }
    try write(key, to: path)
    return key
  }

  /// Puts a key into a file that is not there yet, 0600; durable when it returns.
  static func write(_ key: borrowing Secret, to path: String) throws(StoreOpenError) {
    do throws(SystemError) {
      let raw = Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
      guard raw >= 0 else { throw .last("create the key file \(path)") }
      let file = FileDescriptor(owning: raw)
      let written = key.withBytes { Glibc.write(file.rawValue, $0.baseAddress, $0.count) }
      guard written == key.count, fsync(file.rawValue) == 0 else {
        let error = SystemError.last("write the key file \(path)")
        unlink(path)
        throw error
      }
      try SecureDirectory.syncParent(of: path)
    } catch {
      throw .unusable(error.description)
    }
  }

  /// Lets the successor take the key file's place; an old key is overwritten first, since the
  /// keyring no longer has a slot for it.
  static func promote(_ path: String) throws(StoreOpenError) {
    do throws(SystemError) {
      let raw = Glibc.open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
      if raw >= 0 {
        let file = FileDescriptor(owning: raw)
        let zeros = [UInt8](repeating: 0, count: 32)
        _ = Glibc.write(file.rawValue, zeros, zeros.count)
        fsync(file.rawValue)
      }
      guard rename(path + successor, path) == 0 else { throw .last("rename \(path)\(successor)") }
      try SecureDirectory.syncParent(of: path)
    } catch {
      throw .unusable(error.description)
    }
  }

  static func removeSuccessor(of path: String) { unlink(path + successor) }

  /// A key file that others may read is narrowed, with a warning. A credential is systemd's affair.
  private static func narrow(
    _ file: Int32, _ source: KeySource, _ warnings: inout [String]
  ) throws(StoreOpenError) {
    guard case .file(let path) = source else { return }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & 0o077 != 0 else { return }
    if fchmod(file, status.st_mode & 0o700) == 0 {
      warnings.append("the key file \(path) was open to other users; its mode is narrowed now")
    } else {
      warnings.append("the key file \(path) is open to other users; chmod 600 it")
    }
  }
}
