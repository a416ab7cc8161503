package import JSON

/// A method's failure as it goes over the wire: the error's full name, and its parameters.
package struct VarlinkError: Error, Equatable, Sendable {
  package var name: String
  package var parameters: [String: JSONValue]

  package init(name: String, parameters: [String: JSONValue] = [:]) {
    self.name = name
    self.parameters = parameters
  }
}

/// The errors that every Varlink service has (`org.varlink.service`).
extension VarlinkError {
  /// No interface of this name is served.
  package static func interfaceNotFound(_ interface: String) -> VarlinkError {
    standard("InterfaceNotFound", ["interface": .string(interface)])
  }

  /// The interface is served and has no such method.
  package static func methodNotFound(_ method: String) -> VarlinkError {
    standard("MethodNotFound", ["method": .string(method)])
  }

  /// The interface has the method, and this service does not carry it out (in this form).
  package static func methodNotImplemented(_ method: String) -> VarlinkError {
    standard("MethodNotImplemented", ["method": .string(method)])
  }

  /// A parameter is missing, unknown, of another type or out of range.
  package static func invalidParameter(_ parameter: String) -> VarlinkError {
    standard("InvalidParameter", ["parameter": .string(parameter)])
  }

  /// The caller may not call this method.
  package static let permissionDenied = standard("PermissionDenied", [:])

  /// The method answers more than once, and was called without `more`.
  package static let expectedMore = standard("ExpectedMore", [:])

  private static func standard(_ name: String, _ parameters: [String: JSONValue]) -> VarlinkError {
    VarlinkError(name: ServiceInterface.name + "." + name, parameters: parameters)
  }
}
