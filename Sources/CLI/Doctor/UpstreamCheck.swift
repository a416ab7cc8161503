import BrewlogAPI
import Configuration
import Execution
import Platform

extension Examination {
  private static let patience = Duration.seconds(5)

  /// The API, and where it is another host, the token endpoint or the issuer.
  mutating func checkUpstream() {
    guard let configuration else {
      add(.skipped("upstream", "where it is stands in the configuration"))
      return
    }
    let api = configuration.upstream.baseURL
    let others = [configuration.auth.issuer, configuration.auth.tokenEndpoint].compactMap { $0 }
    var seen: Set<String> = []
    for url in [api] + others {
      guard let origin = UpstreamOrigin(url), seen.insert(origin.text).inserted else { continue }
      check(origin, url, configuration.upstream)
    }
  }

  private mutating func check(
    _ origin: UpstreamOrigin, _ url: String, _ upstream: DaemonConfiguration.Upstream
  ) {
    // Behind a proxy, names and connections are its business.
    let variables = context.environment.variables
    let proxies = ["https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy", "ALL_PROXY"]
    if upstream.proxy != nil || proxies.contains(where: { !(variables[$0] ?? "").isEmpty }) {
      add(.skipped("dns", "\(origin.text) is asked through a proxy"))
      askCurl(origin, url, upstream)
      return
    }
    let addresses: [NetworkProbe.SocketAddress]
    switch NetworkProbe.addresses(of: origin.host, origin.port) {
    case .success(let found):
      addresses = found
      add(
        .ok(
          "dns", "\(origin.host) has \(found.count == 1 ? "1 address" : "\(found.count) addresses")"
        ))
    case .failure(let error):
      add(
        .wrong(
          "dns", "\(origin.host) cannot be resolved: \(error.text)",
          remedy: "Check the name in BaseURL=, and the host's DNS: resolvectl query \(origin.host)")
      )
      return
    }
    switch NetworkProbe.connect(addresses, atMost: Self.patience) {
    case .failure(let error):
      add(
        .wrong(
          "upstream", "\(origin.text) takes no connection: \(error.text)",
          remedy: "Is it up? Is a firewall or a proxy (Proxy= in [Upstream]) in between? Until it "
            + "is back, cached tips are served."))
    case .success(let connection):
      if origin.isSecure {
        askCurl(origin, url, upstream)
      } else if let head = NetworkProbe.head(origin, over: connection, atMost: Self.patience) {
        take(head, origin)
      } else {
        add(
          .wrong(
            "upstream", "\(origin.text) takes the connection, but does not answer",
            remedy: "Is it an HTTP server? Check BaseURL= in [Upstream]."))
      }
    }
  }

  /// TLS by the program `curl`, which uses the same library and the same authorities as brewlogd;
  /// linking it here would make every `brewlogctl tip` slower.
  private mutating func askCurl(
    _ origin: UpstreamOrigin, _ url: String, _ upstream: DaemonConfiguration.Upstream
  ) {
    var arguments = ["--silent", "--show-error", "--head", "--max-time", "10"]
    if let file = upstream.caFile { arguments += ["--cacert", file] }
    guard
      let (end, text) = RunningProgram.output(
        of: "curl", arguments + ["--", url], environment: context.environment.variables,
        atMost: .seconds(15))
    else {
      add(
        .skipped(
          "tls", "the program curl is not here to try it with", remedy: "sudo apt install curl"))
      return
    }
    switch end {
    case .exited(0):
      if origin.isSecure { add(.ok("tls", "\(origin.text) proves who it is")) }
      take(text, origin)
    case .exited(35), .exited(51), .exited(58), .exited(60), .exited(77):
      add(
        .wrong(
          "tls", "\(origin.text): \(text)",
          remedy: "Check the clock first. Does a private authority sign it, name its file: CAFile= "
            + "in [Upstream]."))
    default:
      add(
        .wrong(
          "upstream", "\(origin.text): \(text)",
          remedy: "Check BaseURL= and Proxy= in [Upstream], and that it is up."))
    }
  }

  /// Status line and `Date` of an answer. Any status will do: nobody is signed in here.
  private mutating func take(_ head: String, _ origin: UpstreamOrigin) {
    let lines = head.split(whereSeparator: \.isNewline)
    let status = lines.last { $0.hasPrefix("HTTP/") }.map { $0.split(separator: " ") } ?? []
    guard status.count > 1, let code = Int(status[1]) else {
      add(
        .wrong(
          "upstream", "\(origin.text) does not speak HTTP",
          remedy: "Check scheme and port of BaseURL= in [Upstream]."))
      return
    }
    let date = lines.last { $0.lowercased().hasPrefix("date:") }
    if let date, upstreamTime == nil {
      upstreamTime = HTTPMoment.milliseconds(String(date.dropFirst(5)))
    }
    if code >= 500 {
      add(
        .wrong(
          "upstream", "\(origin.text) answers with HTTP \(code)",
          remedy: "It is its own fault; wait, or ask who runs it. Cached tips are served."))
    } else {
      add(.ok("upstream", "\(origin.text) answers"))
    }
  }

  mutating func checkClock() {
    let now = context.environment.now().milliseconds
    guard let there = upstreamTime else {
      add(.skipped("clock", "nobody said what time it is"))
      return
    }
    let off = (now - there) / 1000
    // A date has whole seconds, and the answer took a moment.
    if abs(off) <= 30 {
      add(.ok("clock", "agrees with the upstream's"))
    } else {
      let way = off > 0 ? "ahead of" : "behind"
      add(
        .wrong(
          "clock", "it is \(Words.span(Int(clamping: abs(off)))) \(way) the upstream's",
          remedy: "Set it: sudo timedatectl set-ntp true. Tokens and certificates are judged by it."
        ))
    }
  }
}

/// The one form of `Date` that servers may send (RFC 9110, 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPMoment {
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  static func milliseconds(_ text: String) -> Int64? {
    let words = text.split(separator: " ").map(String.init)
    guard words.count == 6, words[5] == "GMT", words[1].count == 2, words[3].count == 4,
      let month = months.firstIndex(of: words[2])
    else { return nil }
    let number = month < 9 ? "0\(month + 1)" : String(month + 1)
    return Timestamps.moment("\(words[3])-\(number)-\(words[1])T\(words[4])Z")?.milliseconds
  }
}
