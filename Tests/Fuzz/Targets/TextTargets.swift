import Varlink

@testable import Configuration

/// A configuration's text: taken, or refused with a place.
enum ConfigurationTarget {
  static func run(_ bytes: ArraySlice<UInt8>) {
    let text = Array("[Upstream]\nBaseURL=http://127.0.0.1:9\n".utf8) + bytes
    let files = ConfigurationFiles(read: { _ in .bytes(text) }, list: { _ in .missing })
    let source = ConfigurationSource(file: "fuzz.conf", environment: [:])
    do throws(ConfigurationError) {
      let configuration = try DaemonConfiguration.load(from: source, files: files)
      precondition(!configuration.settings.isEmpty)
    } catch {
      precondition(!error.problems.isEmpty, "refused without a reason")
      for problem in error.problems { precondition(!problem.description.isEmpty) }
    }
  }
}

/// An interface's text, of which the methods' names are read.
enum InterfacesTarget {
  static func run(_ bytes: ArraySlice<UInt8>) {
    let text = String(decoding: bytes, as: UTF8.self)
    let description = InterfaceDescription(name: "org.example.Fuzz", text: text)
    // By bytes: what is one character depends on what stands beside it.
    let words = Set(text.utf8.split { " \t\r\n()#".utf8.contains($0) }.map { Array($0) })
    for method in description.methods {
      precondition(words.contains(Array(method.utf8)), "a name from nowhere")
    }
  }
}
