extension Worlds {
  /// What may befall a few requests with a stale token.
  private enum Event: String, CaseIterable {
    case logout, account, renewal, leaver, stop, kill

    var name: String {
      switch self {
      case .logout: "a logout"
      case .account: "another account"
      case .renewal: "a renewal"
      case .leaver: "a client leaves"
      case .stop: "a stop"
      case .kill: "a kill"
      }
    }

    func happen(in world: inout World) {
      switch self {
      case .logout: world.clients.append(.init(.logout))
      case .account: world.clients.append(.init(.importAccount("B")))
      case .renewal: world.lifetime = .seconds(40)
      case .leaver: world.clients[0].leaves = true
      case .stop: world.clients.append(.init(.stop))
      case .kill:
        world.crashes = 1
        world.afterCrash = [.init(.today), .init(.refresh)]
      }
    }
  }

  private static let requests: [(name: String, clients: [World.Client])] = [
    ("two alike", [.init(.today), .init(.today)]),
    ("two different", [.init(.today), .init(.tip("1"))]),
    ("two alike and a refresh", [.init(.today), .init(.today), .init(.refresh)]),
  ]

  /// Each of the requests with each one and each two of the events, and with every outcome that a
  /// refresh can have.
  static let combinations: [World] = requests.flatMap { requests in
    sets(of: Event.allCases).map { events in
      let names = events.map(\.name).joined(separator: ", ")
      var world = World("\(requests.name); \(names)", requests.clients)
      world.isStale = true
      world.exchanges = [
        .answered, .late, .serverError, .busy, .unclear, .misconfigured, .requestLost, .answerLost,
      ]
      for event in events { event.happen(in: &world) }
      return world
    }
  }

  private static func sets(of events: [Event]) -> [[Event]] {
    events.indices.flatMap { first in
      [[events[first]]] + events[(first + 1)...].map { [events[first], $0] }
    }
  }
}
