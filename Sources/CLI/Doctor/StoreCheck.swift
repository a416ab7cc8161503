import Configuration
import Glibc
import Platform
import Store

extension Examination {
  private static let neededRoom: UInt64 = 16 << 20

  mutating func checkStore() {
    guard let store = configuration?.store else {
      add(.skipped("store", "where it is stands in the configuration"))
      return
    }
    let path = store.directory
    switch FileFacts.of(path) {
    case .failure(let error) where error.code == ENOENT:
      if isServed {
        add(
          .wrong(
            "store", "\(path) is gone, while brewlogd runs",
            remedy: "Restart brewlogd and sign in again: brewlogctl login"))
      } else {
        add(.ok("store", "\(path) is not there yet; brewlogd makes it at its first start"))
      }
      return
    case .failure(let error):
      add(.skipped("store", "\(path): \(SystemError.text(of: error.code))", remedy: asRoot))
      return
    case .success(let facts):
      guard facts.kind == .directory else {
        add(
          .wrong(
            "store", "\(path) is no directory of its own",
            remedy: "Set Directory= in [Store] to a directory that belongs to brewlogd alone."))
        return
      }
      if facts.mode & 0o077 != 0 {
        add(
          .wrong(
            "store", "\(path) is open to others (mode \(facts.octal))",
            remedy: "sudo chmod 0700 \(path)"))
      }
    }
    checkRoom(path)
    checkKey(path, store.keyFile)
  }

  private mutating func checkRoom(_ path: String) {
    guard let room = FileFacts.room(at: path) else { return }
    if room.readOnly {
      add(
        .wrong(
          "store", "the file system of \(path) is mounted read-only",
          remedy: "Find out why (dmesg), then: sudo mount -o remount,rw MOUNTPOINT"))
    } else if room.bytes < Self.neededRoom {
      add(
        .wrong(
          "store", "only \(Words.bytes(Int(clamping: room.bytes))) are free at \(path)",
          remedy: "Make room: without it, a new refresh token cannot be stored."))
    }
  }

  /// A store whose key is missing is never given another one: that would lose the session.
  private mutating func checkKey(_ directory: String, _ keyFile: String) {
    let database = directory + "/session.db"
    if case .failure(let error) = FileFacts.of(database) {
      if error.code == ENOENT {
        add(.ok("store", "\(directory) holds nothing yet"))
      } else {
        add(.skipped("store", "\(directory) is for brewlogd alone", remedy: asRoot))
      }
      return
    }
    if case .success(let facts) = FileFacts.of(keyFile), facts.kind == .file,
      facts.size < KeyMaterial.shortest
    {
      add(
        .wrong(
          "store", "the key file \(keyFile) holds \(facts.size) bytes, which is no key",
          remedy: "Restore it. Is it lost, so is the session: move \(directory) away, start "
            + "brewlogd, sign in again."))
    } else if FileFacts.exists(keyFile) {
      add(.ok("store", "\(directory), key in \(keyFile)"))
    } else if isServed {
      add(.ok("store", "\(directory), key from a credential"))
    } else {
      add(
        .wrong(
          "store", "there is a store in \(directory), but not its key \(keyFile)",
          remedy: "Bring the key back (KeyFile=, or the credential brewlog.key). Is it lost, so is "
            + "the session: move \(directory) away, start brewlogd, sign in again."))
    }
  }
}
