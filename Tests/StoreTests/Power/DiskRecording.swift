import CDisk
import FoundationEssentials
import Testing

/// One change below a directory, as the C library was asked for it. Names are relative to it; a node
/// is a file, whatever it is called.
enum DiskChange {
  case makeDirectory(String)
  /// `mode` from its first moment.
  case create(String, node: Int, mode: UInt32)
  case write(node: Int, offset: Int, bytes: [UInt8])
  case truncate(node: Int, size: Int)
  case sync(node: Int)
  case syncDirectory(String)
  case rename(String, to: String)
  case remove(String)

  /// What it does to a directory; nil: nothing.
  var word: String? {
    switch self {
    case .makeDirectory, .create: "a creation"
    case .rename: "a renaming"
    case .remove: "a removal"
    case .write, .truncate, .sync, .syncDirectory: nil
    }
  }

  fileprivate init?(_ change: disk_change) {
    let name = String(cString: change.name)
    let node = Int(change.node)
    switch change.kind {
    case DISK_MAKE_DIRECTORY: self = .makeDirectory(name)
    case DISK_CREATE: self = .create(name, node: node, mode: change.mode)
    case DISK_WRITE:
      self = .write(
        node: node, offset: Int(change.offset),
        bytes: Array(UnsafeBufferPointer(start: change.bytes, count: change.count)))
    case DISK_TRUNCATE: self = .truncate(node: node, size: Int(change.offset))
    case DISK_SYNC: self = .sync(node: node)
    case DISK_SYNC_DIRECTORY: self = .syncDirectory(name)
    case DISK_RENAME: self = .rename(name, to: String(cString: change.new_name))
    case DISK_REMOVE: self = .remove(name)
    default: return nil
    }
  }
}

/// What was done below a directory, and where in it the answers were given. One at a time.
struct DiskRecording<Allowed> {
  /// From here on a restart may find this.
  struct Mark {
    var index: Int
    var step: String
    var allowed: Allowed
  }

  /// The disk as it was at the beginning.
  private(set) var start: DiskModel
  private(set) var changes: [DiskChange] = []
  private(set) var marks: [Mark] = []

  /// Begins. What `root` holds counts as synced.
  init(of root: String) throws {
    disk_record(root)
    start = DiskModel()
    for node in 0..<disk_first_count() {
      let name = String(cString: disk_first_name(node))
      if let content = FileManager.default.contents(atPath: root + "/" + name) {
        start.addFile(name, node: Int(node), [UInt8](content))
      } else {
        start.addDirectory(name)
      }
    }
  }

  mutating func mark(_ step: String, _ allowed: Allowed) {
    marks.append(Mark(index: Int(disk_change_count()), step: step, allowed: allowed))
  }

  mutating func end() {
    disk_record(nil)
    changes = (0..<disk_change_count()).compactMap { DiskChange(disk_change_at($0).pointee) }
  }

  /// What a cut before the change of this index may leave.
  func mark(at index: Int) -> Mark? { marks.last { $0.index <= index } }
}

extension Trait where Self == ConditionTrait {
  /// For tests that the C library's calls go through.
  static var interposed: Self {
    .enabled(if: disk_is_interposed() == 1, "a sanitizer has the file calls")
  }
}
