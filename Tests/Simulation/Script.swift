/// What decides a run: a prefix of choices, and then either the first of each, or a random order by
/// priorities. Records every choice, so that any run can be run again.
package struct Script {
  package struct Choice: Equatable, Sendable {
    package var taken: Int
    package var count: Int
  }

  private let prefix: [Int]
  package private(set) var choices: [Choice] = []
  private var random: RandomOrder?

  package init(prefix: [Int] = []) {
    self.prefix = prefix
  }

  package init(seed: UInt64) {
    prefix = []
    random = RandomOrder(seed: seed)
  }

  var isRandom: Bool { random != nil }
  var isBeyondPrefix: Bool { choices.count >= prefix.count && random == nil }

  mutating func next(_ count: Int, weights: [UInt64]?) -> Int {
    let taken: Int
    if choices.count < prefix.count {
      taken = min(prefix[choices.count], count - 1)
    } else if random != nil {
      taken = random?.pick(count, weights) ?? 0
    } else {
      taken = 0
    }
    choices.append(Choice(taken: taken, count: count))
    return taken
  }

  /// The next prefix in depth-first order; nil: all have been run.
  static func following(_ choices: [Choice]) -> [Int]? {
    var rest = choices
    while let last = rest.popLast() {
      if last.taken + 1 < last.count { return rest.map(\.taken) + [last.taken + 1] }
    }
    return nil
  }
}

/// Probabilistic concurrency testing: each source has a random priority, the highest runs, and at a
/// few random points the running one falls behind all others. Finds orderings that need few
/// constraints with a known probability (Burckhardt et al., ASPLOS 2010).
struct RandomOrder {
  private var generator: SplitMix
  private var priorities: [UInt64: UInt64] = [:]
  private var changes: Set<Int>
  private var step = 0
  private var lowest: UInt64 = 1 << 20

  init(seed: UInt64) {
    var generator = SplitMix(state: seed)
    let depth = 2 + Int(generator.next() % 4)
    changes = Set((0..<depth).map { _ in Int(generator.next() % 60) })
    self.generator = generator
  }

  mutating func pick(_ count: Int, _ sources: [UInt64]?) -> Int {
    guard let sources else { return Int(generator.next() % UInt64(count)) }
    step += 1
    for source in sources where priorities[source] == nil {
      priorities[source] = (1 << 20) + generator.next() % (1 << 40)
    }
    guard var best = sources.max(by: { (priorities[$0] ?? 0) < (priorities[$1] ?? 0) }) else {
      return 0
    }
    if changes.contains(step) {
      lowest -= 1
      priorities[best] = lowest
      best = sources.max { (priorities[$0] ?? 0) < (priorities[$1] ?? 0) } ?? best
    }
    let places = sources.indices.filter { sources[$0] == best }
    return places[Int(generator.next() % UInt64(places.count))]
  }
}

package struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  package init(state: UInt64) {
    self.state = state
  }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
