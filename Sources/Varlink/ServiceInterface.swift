import JSON

/// Who serves, as GetInfo tells.
package struct ServiceInfo: Equatable, Sendable {
  package var vendor: String
  package var product: String
  package var version: String
  package var url: String

  package init(vendor: String, product: String, version: String, url: String) {
    self.vendor = vendor
    self.product = product
    self.version = version
    self.url = url
  }
}

/// `org.varlink.service`, which every Varlink service has. Its replies never change while the
/// server lives, so they are encoded once.
struct ServiceInterface: Sendable {
  static let name = "org.varlink.service"

  static let description = InterfaceDescription(
    name: name,
    text: """
      # What every Varlink service can be asked about itself.
      interface org.varlink.service

      # Who serves, and the names of all interfaces, this one among them.
      method GetInfo() -> (
        vendor: string,
        product: string,
        version: string,
        url: string,
        interfaces: []string
      )

      # The text that defines one interface.
      method GetInterfaceDescription(interface: string) -> (description: string)

      # No interface of this name is served.
      error InterfaceNotFound (interface: string)

      # The interface has no such method.
      error MethodNotFound (method: string)

      # The interface has the method, and this service does not carry it out.
      error MethodNotImplemented (method: string)

      # A parameter is missing, unknown, of another type or out of range.
      error InvalidParameter (parameter: string)

      # The caller may not call this method.
      error PermissionDenied ()

      # The method answers more than once and has to be called with `more`.
      error ExpectedMore ()

      """)

  private let info: Reply
  private let descriptions: [String: Reply]

  init(info: ServiceInfo, interfaces: [InterfaceDescription]) {
    let names = interfaces.map(\.name).sorted()
    self.info = Self.reply([
      "vendor": .string(info.vendor), "product": .string(info.product),
      "version": .string(info.version), "url": .string(info.url),
      "interfaces": .array(names.map { .string($0) }),
    ])
    descriptions = Dictionary(
      interfaces.map { ($0.name, Self.reply(["description": .string($0.text)])) }
    ) { first, _ in first }
  }

  func answer(_ call: Call) -> Reply {
    switch call.method {
    case Self.name + ".GetInfo": return getInfo(call.parameters)
    case Self.name + ".GetInterfaceDescription": return getInterfaceDescription(call.parameters)
    default: return .failure(.methodNotFound(call.method))
    }
  }

  private func getInfo(_ parameters: [String: JSONValue]) -> Reply {
    if let unknown = parameters.keys.min() { return .failure(.invalidParameter(unknown)) }
    return info
  }

  private func getInterfaceDescription(_ parameters: [String: JSONValue]) -> Reply {
    if let unknown = parameters.keys.filter({ $0 != "interface" }).min() {
      return .failure(.invalidParameter(unknown))
    }
    guard let name = parameters["interface"]?.string else {
      return .failure(.invalidParameter("interface"))
    }
    return descriptions[name] ?? .failure(.interfaceNotFound(name))
  }

  private static func reply(_ parameters: [String: JSONValue]) -> Reply {
    .success(Envelope.text(of: parameters))
  }
}
