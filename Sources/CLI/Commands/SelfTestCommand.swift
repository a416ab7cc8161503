import Glibc
import JSON

/// `selftest`: the promises that matter most, tried with the installed programs.
enum SelfTestCommand {
  static let command = Command(
    "selftest", "try rotation, crash, outage and logout with the installed programs",
    details:
      "Runs brewlogd and a demo upstream of its own in a scratch directory, which is removed where "
      + "all passes. The session of this host is not touched.",
    examples: [("selftest", "after an upgrade"), ("--json selftest | jq .passed", "for a script")],
    run: run)

  static func run(_ context: CommandContext) throws(CommandFailure) -> ExitCode {
    let stage = try SelfTestStage(programs(), context)
    var failure: (step: String, why: CommandFailure)?
    var done: [JSONValue] = []
    let fields = FieldList(context: context, label: 21)
    for step in SelfTest(stage: stage).steps {
      do throws(CommandFailure) {
        context.output.transient(StyledText("\(step.name) ...", .faint))
        let detail = try step.run()
        done.append(["step": .string(step.name), "passed": true, "detail": .string(detail)])
        show("ok", .good, step.name, detail, fields)
      } catch {
        failure = (step.name, error)
        done.append(
          ["step": .string(step.name), "passed": false, "detail": .string(error.problem)])
        show("FAILED", .bad, step.name, error.problem, fields)
        break
      }
    }
    context.output.transient(nil)
    stage.close(keepingFiles: failure != nil)
    if context.json {
      context.output.json(["passed": .bool(failure == nil), "steps": .array(done)])
      return failure == nil ? .done : .failed
    }
    context.output.line()
    guard let failure else {
      context.output.line(StyledText("All of it holds.", .good))
      return .done
    }
    for line in stage.text(of: "brewlogd.log").split(separator: "\n").suffix(10) {
      context.output.note(StyledText("  " + String(line), .faint))
    }
    throw CommandFailure(
      .failed, "the self-test failed at \(failure.step)",
      remedy: "Logs, store and configuration of this run are kept in \(stage.directory)")
  }

  private static func show(
    _ mark: String, _ tone: Tone, _ name: String, _ detail: String, _ fields: FieldList
  ) {
    if fields.context.json { return }
    fields.row(
      StyledText(TextLayout.pad(mark, to: 8), tone) + StyledText(name), StyledText(detail))
  }

  /// Beside this program, or where packages put what no person calls.
  private static func programs() throws(CommandFailure) -> SelfTestStage.Programs {
    let own = FileFacts.parent(of: ownPath)
    func find(_ name: String, _ places: [String]) throws(CommandFailure) -> String {
      let paths = places.map { own + "/" + $0 + name }
      if let path = paths.first(where: { access($0, X_OK) == 0 }) { return path }
      throw CommandFailure(
        .failed, "\(name) is not installed: neither of \(paths.joined(separator: ", ")) is there",
        remedy: "Install the whole package, or build all: make build")
    }
    return SelfTestStage.Programs(
      daemon: try find("brewlogd", ["", "../sbin/", "../libexec/brewlog/", "../lib/brewlog/"]),
      upstream: try find(
        "brewlog-demo-upstream", ["", "../libexec/brewlog/", "../lib/brewlog/"]))
  }

  private static var ownPath: String {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    return String(
      decoding: buffer.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
