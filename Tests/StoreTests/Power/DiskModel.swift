import FoundationEssentials
import Glibc

/// A disk between a program and its power supply. What was written since a file's last sync may be
/// lost, in part and out of order; so may names that were made, changed or removed since the
/// directory's last sync, though the file itself was synced. A renaming happens whole or not at all.
/// Stricter than any file system that is in use.
struct DiskModel {
  /// What the cut leaves of what was not synced.
  enum Survival: Hashable {
    case nothing
    case everything
    /// The names but not the contents, and the other way round.
    case names, contents
    /// Drawn by lot, down to single sectors.
    case some(seed: UInt32)
  }

  enum Entry: Equatable {
    case file(Int)
    case directory
  }

  private struct NameChange {
    var directory: String
    var names: [(String, Entry?)]
  }

  private enum ContentChange {
    case write(offset: Int, [UInt8])
    case truncate(Int)
  }

  private struct Content {
    var synced: [UInt8] = []
    var changes: [ContentChange] = []
  }

  private var syncedNames: [String: Entry] = [:]
  private var nameChanges: [NameChange] = []
  private var contents: [Int: Content] = [:]
  /// All names, as the running program sees them.
  private var names: [String: Entry] = [:]
  /// Which files have ever had a name.
  private var nodes: [String: Set<Int>] = [:]

  mutating func addFile(_ name: String, node: Int, _ bytes: [UInt8]) {
    syncedNames[name] = .file(node)
    names[name] = .file(node)
    nodes[name, default: []].insert(node)
    contents[node] = Content(synced: bytes)
  }

  mutating func addDirectory(_ name: String) {
    syncedNames[name] = .directory
    names[name] = .directory
  }

  mutating func apply(_ change: DiskChange) {
    switch change {
    case .makeDirectory(let name): set([(name, .directory)])
    case .create(let name, let node, _):
      contents[node] = Content()
      set([(name, .file(node))])
    case .write(let node, let offset, let bytes):
      contents[node]?.changes.append(.write(offset: offset, bytes))
    case .truncate(let node, let size): contents[node]?.changes.append(.truncate(size))
    case .sync(let node):
      let synced = content(of: node, .everything) { true }
      contents[node] = Content(synced: synced)
    case .syncDirectory(let directory):
      for change in nameChanges where change.directory == directory {
        for (name, entry) in change.names { syncedNames[name] = entry }
      }
      nameChanges.removeAll { $0.directory == directory }
    case .rename(let old, let new): set([(old, nil), (new, names[old])])
    case .remove(let name): set([(name, nil)])
    }
  }

  /// Which file has this name now.
  func node(of name: String) -> Int? {
    if case .file(let node) = names[name] { node } else { nil }
  }

  /// Whether the medium still has what this file held, though it may have no name any more.
  func remembers(_ node: Int) -> Bool { contents[node]?.synced.contains { $0 != 0 } ?? false }

  /// How a sync's target is called, for a report.
  func target(of change: DiskChange) -> String? {
    switch change {
    case .syncDirectory(let name): return name.isEmpty ? "the directory above" : "the directory"
    case .sync(let node):
      let name = nodes.filter { $0.value.contains(node) }.map(\.key).min { $0.count < $1.count }
      return name?.split(separator: "/").last.map(String.init)
    default: return nil
    }
  }

  /// What a start would find after the cut.
  func image(_ survival: Survival) -> Image {
    var lot = Lot(survival)
    var left = syncedNames
    for change in nameChanges where lot.keepsName() {
      for (name, entry) in change.names { left[name] = entry }
    }
    var image = Image()
    for (name, entry) in left.sorted(by: { $0.key < $1.key }) {
      // What stands in a directory that was lost is lost with it.
      let above = name.split(separator: "/").dropLast()
      let parents = above.indices.map { above[...$0].joined(separator: "/") }
      guard parents.allSatisfy({ left[$0] == .directory }) else { continue }
      switch entry {
      case .directory: image.directories.append(name)
      case .file(let node):
        image.files[name] = content(of: node, survival) { lot.keepsContent() }
      }
    }
    return image
  }

  private mutating func set(_ changes: [(String, Entry?)]) {
    for (name, entry) in changes {
      names[name] = entry
      if case .file(let node) = entry { nodes[name, default: []].insert(node) }
    }
    let directory = changes[0].0.split(separator: "/").dropLast().joined(separator: "/")
    nameChanges.append(NameChange(directory: directory, names: changes))
  }

  private func content(
    of node: Int, _ survival: Survival, _ keeps: () -> Bool
  ) -> [UInt8] {
    guard let content = contents[node] else { return [] }
    var bytes = content.synced
    for change in content.changes where keeps() {
      switch change {
      case .truncate(let size):
        if size < bytes.count { bytes.removeSubrange(size...) }
      case .write(let offset, let new):
        // Torn at a sector.
        let isTorn = if case .some = survival { !keeps() } else { false }
        let count = isTorn ? new.count / 1024 * 512 : new.count
        if bytes.count < offset + count {
          bytes += [UInt8](repeating: 0, count: offset + count - bytes.count)
        }
        bytes.replaceSubrange(offset..<offset + count, with: new[..<count])
      }
    }
    return bytes
  }

  /// Decides what is kept.
  private struct Lot {
    private let survival: Survival
    private var state: UInt32

    init(_ survival: Survival) {
      self.survival = survival
      state = if case .some(let seed) = survival { seed } else { 0 }
    }

    mutating func keepsName() -> Bool {
      switch survival {
      case .nothing, .contents: false
      case .everything, .names: true
      case .some: draw()
      }
    }

    mutating func keepsContent() -> Bool {
      switch survival {
      case .nothing, .names: false
      case .everything, .contents: true
      case .some: draw()
      }
    }

    private mutating func draw() -> Bool {
      state = state &* 1_664_525 &+ 1_013_904_223
      return state >> 16 & 1 == 1
    }
  }

  /// Files and directories as they are after the cut.
  struct Image {
    var files: [String: [UInt8]] = [:]
    var directories: [String] = []

    /// Alike for images that are alike.
    var digest: Int {
      var hasher = Hasher()
      for (name, bytes) in files.sorted(by: { $0.key < $1.key }) {
        hasher.combine(name)
        hasher.combine(bytes.count)
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
      }
      hasher.combine(directories)
      return hasher.finalize()
    }

    /// Writes it to a new directory.
    func write(to root: String) throws {
      guard mkdir(root, 0o700) == 0 else { throw CocoaError(.fileWriteUnknown) }
      for name in directories.sorted() {
        guard mkdir(root + "/" + name, 0o700) == 0 else { throw CocoaError(.fileWriteUnknown) }
      }
      for (name, bytes) in files {
        let raw = open(root + "/" + name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        defer { close(raw) }
        guard raw >= 0, Glibc.write(raw, bytes, bytes.count) == bytes.count else {
          throw CocoaError(.fileWriteUnknown)
        }
      }
    }
  }
}
