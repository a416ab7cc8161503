import Glibc

/// Users and groups by name (getpwnam_r(3), getgrnam_r(3)). The name service may ask the network:
/// never on the loop once that serves.
package enum Accounts {
  /// A number is taken as it is.
  package static func userID(of name: String) -> UInt32? {
    if let number = UInt32(name) { return number }
    var record = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var buffer = [CChar](repeating: 0, count: 16 * 1024)
    guard getpwnam_r(name, &record, &buffer, buffer.count, &found) == 0, found != nil else {
      return nil
    }
    return record.pw_uid
  }

  /// A number is taken as it is.
  package static func groupID(of name: String) -> UInt32? {
    if let number = UInt32(name) { return number }
    var record = group()
    var found: UnsafeMutablePointer<group>?
    var buffer = [CChar](repeating: 0, count: 64 * 1024)
    guard getgrnam_r(name, &record, &buffer, buffer.count, &found) == 0, found != nil else {
      return nil
    }
    return record.gr_gid
  }

  package static var ownUserID: UInt32 { geteuid() }
}
