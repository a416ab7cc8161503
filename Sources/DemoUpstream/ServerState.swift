/// All that the server's thread, its timer and the tests share, behind one lock.
struct ServerState {
  struct Route: Hashable {
    var method: Method
    var path: String
  }

  struct Arrival {
    var name: String
    var count: Int
    var continuation: CheckedContinuation<Void, Never>
  }

  var service: Service
  var scripts: [Route: [Step]] = [:]
  /// What a route does once its script is used up.
  var standing: [Route: Step] = [:]

  private(set) var log: [LogEntry] = []
  /// How many entries were cleared away: an entry's number stays the same.
  private var cleared = 0
  /// Requests that have arrived and are not over, by path; and the most there ever were.
  var open: [String: Int] = [:]
  var peaks: [String: Int] = [:]

  /// Suspended exchanges by the hold that they wait at.
  var held: [String: [Exchange]] = [:]
  var stalled: [String: [StalledBody]] = [:]
  var released: Set<String> = []
  var arrivals: [String: Int] = [:]
  var waiters: [Arrival] = []
  var alarms: [(due: ContinuousClock.Instant, exchange: Exchange)] = []

  var openConnections = 0
  var lastConnection = 0
  /// The numbers of the open ones, by descriptor.
  var connectionNumbers: [Int32: Int] = [:]
  var isStopping = false

  init(_ service: Service) {
    self.service = service
  }

  mutating func nextStep(_ method: Method, _ path: String) -> Step {
    let route = Route(method: method, path: path)
    if var steps = scripts[route], !steps.isEmpty {
      let step = steps.removeFirst()
      scripts[route] = steps
      return step
    }
    return standing[route] ?? .normal
  }

  /// Notes that a request has come to a hold; the waiters whose count is now full are to be
  /// resumed.
  mutating func noteArrival(_ name: String) -> [Arrival] {
    let count = arrivals[name, default: 0] + 1
    arrivals[name] = count
    let full = waiters.filter { $0.name == name && $0.count <= count }
    waiters.removeAll { $0.name == name && $0.count <= count }
    return full
  }

  var entries: Int { cleared + log.count }

  /// The new entry's number.
  mutating func append(_ entry: LogEntry) -> Int {
    log.append(entry)
    return cleared + log.count - 1
  }

  /// Nil: it was cleared away.
  func entry(_ number: Int) -> LogEntry? {
    log.indices.contains(number - cleared) ? log[number - cleared] : nil
  }

  mutating func setStatus(_ status: Int?, of number: Int) {
    if log.indices.contains(number - cleared) { log[number - cleared].status = status }
  }

  mutating func clearLog() {
    cleared += log.count
    log = []
  }

  mutating func opened(_ path: String) {
    let count = open[path, default: 0] + 1
    open[path] = count
    peaks[path] = max(peaks[path, default: 0], count)
  }

  mutating func closed(_ path: String) {
    open[path, default: 1] -= 1
  }
}
