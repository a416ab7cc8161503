import FoundationEssentials
import Session
import Store
import TestSupport
import Testing

/// What a restart may find, and what the medium may not have any more.
struct Permitted: Hashable {
  var found: Set<String>
  /// Files whose content is destroyed: not even a look at the medium itself finds it.
  var destroyed: Set<String> = []
}

/// Work on a store whose every change is recorded, step by step.
final class PowerScript {
  private(set) var recording: DiskRecording<Permitted>
  private var permitted: Permitted

  init(_ root: String, _ before: Set<String>) throws {
    permitted = Permitted(found: before)
    recording = try DiskRecording(of: root)
    recording.mark("before", permitted)
  }

  /// While `body` runs a restart may find the state before or one of these, or one that it passes
  /// through; once it has returned, one of these alone.
  func step(
    _ name: String, to results: Set<String>, passing: Set<String> = [],
    destroying destroyed: Set<String> = [], _ body: () async throws -> Void
  ) async throws {
    recording.mark(name, Permitted(found: permitted.found.union(results).union(passing)))
    try await body()
    permitted = Permitted(found: results, destroyed: permitted.destroyed.union(destroyed))
    recording.mark(name, permitted)
  }

  /// The same where nothing that a restart finds may change.
  func step(_ name: String, _ body: () async throws -> Void) async throws {
    recording.mark(name, permitted)
    try await body()
  }

  func end() { recording.end() }
}

/// Cuts the power at every point of a recording.
struct PowerCut {
  let recording: DiskRecording<Permitted>
  /// A directory for the images.
  let root: String
  /// Starts on an image, in the directory that the recording was made of. What it finds, in words.
  let restart: (_ directory: String) async throws -> String
  /// Whether each sync is left out once.
  var takesSyncsOut = true

  struct Report {
    var images = 0
    var problems: [String] = []
    /// What is synced, and whether leaving that out was noticed.
    var noticed: Set<String> = []
    var unnoticed: Set<String> = []
  }

  private struct Seen: Hashable {
    var digest: Int
    var permitted: Permitted
  }

  func run() async throws -> Report {
    var report = Report()
    var seen: [Seen: String?] = [:]
    var model = recording.start
    for index in 0...recording.changes.count {
      if let problem = try await problem(model, at: index, &report, &seen) {
        report.problems.append(problem)
      }
      if index < recording.changes.count { model.apply(recording.changes[index]) }
    }
    guard takesSyncsOut else { return report }
    for (target, indexes) in syncs {
      if try await isNoticed(leavingOut: indexes, &report, &seen) {
        report.noticed.insert(target)
      } else {
        report.unnoticed.insert(target)
      }
    }
    return report
  }

  /// The syncs by what they are for: a file, or a directory after a kind of change. One that is left
  /// out of the program is left out wherever it is needed.
  private var syncs: [String: Set<Int>] {
    var found: [String: Set<Int>] = [:]
    var model = recording.start
    var last = ""
    for (index, change) in recording.changes.enumerated() {
      if let target = model.target(of: change) {
        let isFile = if case .sync = change { true } else { false }
        found[isFile ? target : "\(target), after \(last)", default: []].insert(index)
      }
      last = change.word ?? last
      model.apply(change)
    }
    return found
  }

  private func isNoticed(
    leavingOut indexes: Set<Int>, _ report: inout Report, _ seen: inout [Seen: String?]
  ) async throws -> Bool {
    var model = recording.start
    for index in 0...recording.changes.count {
      if try await problem(model, at: index, &report, &seen) != nil { return true }
      if index < recording.changes.count, !indexes.contains(index) {
        model.apply(recording.changes[index])
      }
    }
    return false
  }

  /// What is wrong with a cut before the change of this index.
  private func problem(
    _ model: DiskModel, at index: Int, _ report: inout Report, _ seen: inout [Seen: String?]
  ) async throws -> String? {
    guard let mark = recording.mark(at: index) else { return nil }
    for name in mark.allowed.destroyed {
      if let node = recording.start.node(of: name), model.remembers(node) {
        return "\(mark.step), change \(index): the medium still has what was \(name)"
      }
    }
    let lots = (0..<2).map { DiskModel.Survival.some(seed: UInt32(2 * index + $0)) }
    for survival in [.nothing, .everything, .names, .contents] + lots {
      let image = model.image(survival)
      let key = Seen(digest: image.digest, permitted: mark.allowed)
      if let known = seen[key] {
        if let known { return known }
        continue
      }
      report.images += 1
      let problem = try await examine(image, mark).map {
        "\(mark.step), change \(index), \(survival) survives: \($0)"
      }
      seen[key] = .some(problem)
      if let problem { return problem }
    }
    return nil
  }

  private func examine(
    _ image: DiskModel.Image, _ mark: DiskRecording<Permitted>.Mark
  ) async throws -> String? {
    let path = root + "/image"
    try? FileManager.default.removeItem(atPath: path)
    try image.write(to: path)
    let search = Dummy.search
    for (name, bytes) in image.files {
      if let piece = search.find(in: bytes) { return "\(name) holds a token \(piece)" }
    }
    let found: String
    do {
      found = try await restart(path)
    } catch {
      return "the restart fails: \(error)"
    }
    return mark.allowed.found.contains(found) ? nil : "\(found), not \(mark.allowed.found.sorted())"
  }
}

extension Dummy {
  static let search = TokenSearch((0...3).flatMap { [access($0), refresh($0)] })
}
