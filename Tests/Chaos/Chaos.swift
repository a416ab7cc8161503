import CChaosMounts
import Glibc
import Platform
import TestSupport

/// `Chaos [--seed N] [--seeds N] [--seconds S] [--story]`: so many days, one after another, from that
/// seed on. Each that did not end well tells its story; with `--story`, all do.
func runChaos() {
  var (first, count, seconds): (UInt64, UInt64, Int) = (1, 1, 30)
  var words = CommandLine.arguments.dropFirst().filter { $0 != "--story" }
  let tells = CommandLine.arguments.contains("--story")
  while words.count >= 2, let number = UInt64(words[1]) {
    switch words[0] {
    case "--seed": first = number
    case "--seeds": count = number
    case "--seconds": seconds = Int(clamping: number)
    default: usage()
    }
    words.removeFirst(2)
  }
  guard words.isEmpty else { usage() }
  raiseDescriptorLimit()
  // First: threads that exist already would not see the mounts.
  _ = chaos_own_mounts()
  var failed: [UInt64] = []
  for seed in first..<(first + count) where !report(seed, seconds, tells) { failed.append(seed) }
  if failed.isEmpty { exit(0) }
  say("chaos: failed with seed \(failed.map { String($0) }.joined(separator: ", "))")
  exit(1)
}

private func usage() -> Never {
  say("usage: Chaos [--seed N] [--seeds N] [--seconds S] [--story]")
  exit(64)
}

/// One line for a day, and its story where it did not end well.
private func report(_ seed: UInt64, _ seconds: Int, _ tells: Bool) -> Bool {
  let outcome: Day.Outcome
  do {
    outcome = try Day(seed: seed, seconds: seconds).live()
  } catch {
    say("seed \(seed): failed: \(error)")
    return false
  }
  let (ledger, counts) = (outcome.ledger, outcome.ledger.counts)
  let open = counts.calls - counts.answered - counts.cutOff
  if open > 0 { ledger.violate("\(open) calls had no end") }
  let verdict = ledger.violations.isEmpty ? "clean" : "\(ledger.violations.count) violations"
  say(
    "seed \(seed): \(outcome.clients) clients, \(counts.calls) calls "
      + "(\(counts.cutOff) cut off by a death), "
      + "\(counts.kills) kills, \(outcome.refreshes) refreshes, \(counts.signIns) sign-ins, "
      + "\(counts.logouts) logouts, \(counts.outages) outages, \(ledger.fullDisks) full disks, "
      + "\(counts.steps) steps of the clock, \(counts.upgrades) upgrades: " + verdict)
  for part in outcome.leftOut { say("seed \(seed): left out: \(part)") }
  if ledger.violations.isEmpty, !tells { return true }
  for violation in ledger.violations { say("  violated: \(violation)") }
  say("  the last of what happened:")
  for line in ledger.story { say("  " + line) }
  return ledger.violations.isEmpty
}

private func raiseDescriptorLimit() {
  var limit = rlimit()
  let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  guard getrlimit(kind, &limit) == 0 else { return }
  limit.rlim_cur = limit.rlim_max
  _ = setrlimit(kind, &limit)
}

private func say(_ text: String) {
  let bytes = Array((text + "\n").utf8)
  _ = write(STDOUT_FILENO, bytes, bytes.count)
}
