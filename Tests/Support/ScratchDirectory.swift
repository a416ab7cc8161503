import FoundationEssentials
import Glibc
import Platform
package import Testing

/// A directory of one test's own, 0700, removed with all that is in it when the value ends. Its path
/// is short, so that socket paths below it stay within the system's limit.
///
/// Either made in the test, or by the trait: `@Test(.scratchDirectory)` and then
/// `ScratchDirectory.current`.
package final class ScratchDirectory: Sendable {
  package let path: String

  package init() throws {
    var template = Array("/tmp/scratch-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw SystemError.last("make a scratch directory") }
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  /// The path of an entry, which need not exist.
  package func path(_ name: String) -> String {
    path + "/" + name
  }

  /// The directory of the running test, with the trait.
  package static var current: ScratchDirectory {
    get throws {
      guard let directory = running else {
        throw SystemError(operation: "find the scratch directory (trait missing?)", code: ENOENT)
      }
      return directory
    }
  }

  @TaskLocal fileprivate static var running: ScratchDirectory?
}

/// Gives every test (and every argument) a directory of its own.
package struct ScratchDirectoryTrait: TestTrait, SuiteTrait, TestScoping {
  package var isRecursive: Bool { true }

  @concurrent
  package func provideScope(
    for test: Test, testCase: Test.Case?,
    performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    try await ScratchDirectory.$running.withValue(ScratchDirectory()) { try await function() }
  }
}

extension Trait where Self == ScratchDirectoryTrait {
  package static var scratchDirectory: Self { Self() }
}
