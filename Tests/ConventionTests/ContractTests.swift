import BrewlogAPI
import Testing
import Varlink

/// The interface texts are what clients are written to; the Swift beside them says the same.
@Suite(.timeLimit(.minutes(1)))
struct ContractTests {
  static let interfaces = APIInterface.allCases.map { ($0, InterfaceText($0.text)) }

  @Test func `every interface text names itself`() {
    for (interface, _) in Self.interfaces {
      #expect(interface.text.contains("\ninterface \(interface.rawValue)\n"))
    }
  }

  @Test func `method table and interface texts have the same methods`() {
    let declared = Self.interfaces.flatMap { interface, text in
      text.all("method").map { interface.rawValue + "." + $0.name }
    }
    #expect(Set(declared) == Set(APIMethod.allCases.map(\.rawValue)))
    #expect(declared.count == APIMethod.allCases.count)
    let described = MethodTable.interfaces.flatMap { interface in
      interface.methods.map { interface.name + "." + $0 }
    }
    #expect(Set(described) == Set(declared))
  }

  @Test func `who may call a method is what its comment says`() throws {
    for (interface, text) in Self.interfaces {
      for declaration in text.all("method") {
        let method = try #require(APIMethod(rawValue: interface.rawValue + "." + declaration.name))
        #expect(
          declaration.comment.hasSuffix("Access: \(method.access.rawValue)."),
          "\(method.rawValue): \(declaration.comment)")
        #expect(method.interface == interface)
      }
    }
  }

  @Test func `a method streams where its comment speaks of more`() throws {
    for (interface, text) in Self.interfaces {
      for declaration in text.all("method") {
        let method = try #require(APIMethod(rawValue: interface.rawValue + "." + declaration.name))
        #expect(declaration.comment.contains("With `more`") == method.streams, "\(method.rawValue)")
      }
    }
  }

  @Test func `every declared error is known, with its parameters`() {
    for (interface, text) in Self.interfaces {
      for declaration in text.all("error") {
        let name = interface.rawValue + "." + declaration.name
        let error = APIError(VarlinkError(name: name))
        #expect(error != .other(VarlinkError(name: name)), "\(name) is not in APIError")
        let back = error.varlinkError
        #expect(back.name == name)
        // What is optional is left out when it is absent.
        #expect(Set(back.parameters.keys).isSubset(of: declaration.fields), "\(name)")
      }
    }
  }

  @Test func `the wire types have the contract's fields`() throws {
    for (name, sample) in WireSamples.types {
      let declarations = Self.interfaces.flatMap { $1.all("type") }.filter { $0.name == name }
      let declaration = try #require(declarations.first, "\(name)")
      #expect(WireSamples.fields(of: sample) == declaration.fields, "\(name)")
    }
    let named = Set(WireSamples.types.map(\.name))
    for declaration in Self.interfaces.flatMap({ $1.all("type") }) {
      let isEnumeration = WireSamples.enumerations[declaration.name] != nil
      #expect(named.contains(declaration.name) || isEnumeration, "\(declaration.name)")
    }
  }

  @Test func `the replies have the contract's fields`() throws {
    for (interface, text) in Self.interfaces {
      for declaration in text.all("method") {
        let method = try #require(APIMethod(rawValue: interface.rawValue + "." + declaration.name))
        let sample = WireSamples.reply(of: method)
        #expect(WireSamples.fields(of: sample) == declaration.replyFields, "\(method.rawValue)")
      }
    }
  }

  @Test func `the enumerations have the contract's names`() {
    for (name, known) in WireSamples.enumerations {
      let declaration = Self.interfaces.flatMap { $1.all("type") }.first { $0.name == name }
      #expect(declaration?.fields == known, "\(name)")
    }
  }
}
