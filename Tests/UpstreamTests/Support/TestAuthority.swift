import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// A certificate authority of one test's own, by `openssl`, which is not our library.
final class TestAuthority: Sendable {
  private static let program = "/usr/bin/openssl"
  static let isAvailable = access(program, X_OK) == 0

  let scratch: ScratchDirectory
  var certificate: String { scratch.path("authority.pem") }

  struct Issued: Sendable {
    var certificate: String
    var key: String
  }

  init() throws {
    scratch = try ScratchDirectory()
    try run(
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
        "-days", "2", "-subj", "/CN=brewlog test authority", "-keyout",
        scratch.path("authority.key"), "-out", certificate,
      ])
    try write("", to: "index.txt")
    try write("1000\n", to: "serial")
  }

  /// A certificate for a name; of the past where `isExpired`.
  func issue(name: String, isExpired: Bool = false) throws -> Issued {
    let issued = Issued(
      certificate: scratch.path("\(name).pem"), key: scratch.path("\(name).key"))
    let request = scratch.path("\(name).csr")
    try run(
      [
        "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
        "-subj", "/CN=\(name)", "-keyout", issued.key, "-out", request,
      ])
    try write(
      """
      [ca]
      default_ca = this
      [this]
      new_certs_dir = \(scratch.path)
      database = \(scratch.path("index.txt"))
      serial = \(scratch.path("serial"))
      default_md = sha256
      policy = any
      x509_extensions = leaf
      unique_subject = no
      [any]
      commonName = supplied
      [leaf]
      subjectAltName = DNS:\(name)
      """, to: "\(name).cnf")
    try run(
      [
        "ca", "-batch", "-notext", "-config", scratch.path("\(name).cnf"), "-cert", certificate,
        "-keyfile", scratch.path("authority.key"), "-in", request, "-out", issued.certificate,
      ]
        + (isExpired
          ? ["-startdate", "20200101000000Z", "-enddate", "20200102000000Z"] : ["-days", "2"]))
    return issued
  }

  func write(_ text: String, to name: String) throws {
    let isWritten = FileManager.default.createFile(
      atPath: scratch.path(name), contents: Data(text.utf8))
    try #require(isWritten)
  }

  private func run(_ arguments: [String]) throws {
    let child = try ChildProcess.start(Self.program, arguments, environment: [:])
    #expect(child.wait() == .exited(0), "\(child.standardError)")
  }
}

/// A web server that is not ours, with a tip at `/tips/today`, over TLS on loopback.
final class WebServer: Sendable {
  let port: UInt16
  let scratch: ScratchDirectory
  private let child: ChildProcess

  /// nginx, with HTTP/2. Debian: `apt-get install nginx-light`.
  static let nginx = "/usr/sbin/nginx"
  static let hasNginx = access(nginx, X_OK) == 0
  static let python = "/usr/bin/python3"
  static let hasPython = access(python, X_OK) == 0

  private init(_ scratch: ScratchDirectory, _ port: UInt16, _ child: ChildProcess) {
    (self.scratch, self.port, self.child) = (scratch, port, child)
  }

  deinit {
    _ = child.terminate(SIGKILL)
  }

  private static func site() throws -> ScratchDirectory {
    let scratch = try ScratchDirectory()
    try FileManager.default.createDirectory(
      atPath: scratch.path("site/tips"), withIntermediateDirectories: true)
    let tip = #"{"id":"tls","title":"Sealed","body":"Grind just before."}"#
    try #require(
      FileManager.default.createFile(
        atPath: scratch.path("site/tips/today"), contents: Data(tip.utf8)))
    return scratch
  }

  static func python(_ issued: TestAuthority.Issued) throws -> WebServer {
    let scratch = try site()
    let program = """
      import http.server, ssl, sys
      class Handler(http.server.SimpleHTTPRequestHandler):
          def __init__(self, *arguments):
              super().__init__(*arguments, directory=sys.argv[3])
      server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
      context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
      context.load_cert_chain(sys.argv[1], sys.argv[2])
      server.socket = context.wrap_socket(server.socket, server_side=True)
      print("port", server.server_port, flush=True)
      server.serve_forever()
      """
    let child = try ChildProcess.start(
      python, ["-c", program, issued.certificate, issued.key, scratch.path("site")],
      environment: [:])
    try #require(child.waitForOutput("\n"), "\(child.standardError)")
    let words = child.standardOutput.split(whereSeparator: \.isWhitespace)
    return WebServer(scratch, try #require(words.last.flatMap { UInt16($0) }), child)
  }

  /// `redirect`: where everything but the tip is sent on to.
  static func nginx(
    _ issued: TestAuthority.Issued, redirect: String? = nil
  ) throws -> WebServer {
    let scratch = try site()
    let port = try FreePort.find()
    let configuration = """
      daemon off;
      master_process off;
      pid \(scratch.path("pid"));
      error_log stderr;
      events {}
      http {
        log_format protocol "$server_protocol $ssl_protocol $connection $status";
        access_log \(scratch.path("access.log")) protocol;
        client_body_temp_path \(scratch.path("body"));
        proxy_temp_path \(scratch.path("proxy"));
        fastcgi_temp_path \(scratch.path("fastcgi"));
        uwsgi_temp_path \(scratch.path("uwsgi"));
        scgi_temp_path \(scratch.path("scgi"));
        server {
          listen 127.0.0.1:\(port) ssl http2;
          ssl_certificate \(issued.certificate);
          ssl_certificate_key \(issued.key);
          root \(scratch.path("site"));
          default_type application/json;
          \(redirect.map { "location /moved { return 307 \($0)$request_uri; }" } ?? "")
        }
      }
      """
    try #require(
      FileManager.default.createFile(
        atPath: scratch.path("nginx.conf"), contents: Data(configuration.utf8)))
    let child = try ChildProcess.start(
      nginx, ["-c", scratch.path("nginx.conf"), "-p", scratch.path, "-g", "user root;"],
      environment: [:])
    let server = WebServer(scratch, port, child)
    try #require(server.waitUntilItListens(), "\(child.standardError)")
    return server
  }

  /// nginx says nothing of it.
  private func waitUntilItListens() -> Bool {
    for _ in 0..<600 {
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      defer { close(descriptor) }
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      let size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let isUp = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) == 0 }
      }
      if isUp { return true }
      usleep(20_000)
    }
    return false
  }

  /// nginx's lines, as they are so far.
  var accessLog: [Substring] {
    let bytes = FileManager.default.contents(atPath: scratch.path("access.log")) ?? Data()
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
  }
}
