/// From a method's name to who answers it.
struct Router: Sendable {
  enum Route: Equatable, Sendable {
    case service
    case handler
    case failure(VarlinkError)
  }

  let service: ServiceInterface
  private let routes: [String: Route]
  private let interfaces: Set<String>

  init(info: ServiceInfo, interfaces: [InterfaceDescription]) {
    let all = interfaces + [ServiceInterface.description]
    service = ServiceInterface(info: info, interfaces: all)
    self.interfaces = Set(all.map(\.name))
    var routes: [String: Route] = [:]
    for interface in all {
      let route: Route = interface.name == ServiceInterface.name ? .service : .handler
      for method in interface.methods { routes[interface.name + "." + method] = route }
    }
    self.routes = routes
  }

  func route(_ method: String) -> Route {
    if let route = routes[method] { return route }
    guard let dot = method.utf8.lastIndex(of: UInt8(ascii: ".")) else {
      return .failure(.methodNotFound(method))
    }
    let interface = String(method[..<dot])
    return .failure(
      interfaces.contains(interface) ? .methodNotFound(method) : .interfaceNotFound(interface))
  }
}
