import CCurl
import Execution
import Requests
import Secrets

/// One exchange: an easy handle with all that it points to, and what has come in so far. It lives
/// on the loop; libcurl's callbacks reach it there.
final class Transfer {
  /// Past this the head of an answer is no head.
  static let maxHeadBytes = 64 << 10
  /// What a token answer may measure.
  static let maxSecretBodyBytes = 64 << 10

  let easy: UnsafeMutableRawPointer
  let origin: String
  let isCleartext: Bool
  var continuation: CheckedContinuation<Result<HTTPResponse, TransportError>, Never>?
  var deadlineTimer: TimerID?
  /// Memory that the easy handle points to but does not own.
  var headers: UnsafeMutablePointer<curl_slist>?
  var requestBody: UnsafeMutableRawBufferPointer?

  /// How often a request was about to be written. Zero: nothing was sent, of the request at least.
  private(set) var begun = 0
  /// Why a callback of ours ended the transfer.
  private(set) var refusal: TransportError?
  private var fields: [HTTPField] = []
  private var headBytes = 0
  private var headIsWhole = false
  private var body: [UInt8] = []
  private let maxBodyBytes: Int
  private let holdsSecrets: Bool
  private let isAllowed: @Sendable (String) -> Bool
  private static let allowAny: @Sendable (String) -> Bool = { _ in true }

  init?(
    to target: RequestTarget, settings: TransportSettings, holdsSecrets: Bool
  ) {
    guard let easy = curl_easy_init() else { return nil }
    self.easy = easy
    origin = target.origin
    isCleartext = target.isCleartext
    self.holdsSecrets = holdsSecrets
    maxBodyBytes =
      holdsSecrets
      ? min(settings.maxBodyBytes, Transfer.maxSecretBodyBytes) : settings.maxBodyBytes
    let loopbackOnly = target.isCleartext && !settings.allowCleartext
    isAllowed = loopbackOnly ? settings.isLoopback : Transfer.allowAny
    // An array that grows leaves its old storage behind, with what was in it.
    if holdsSecrets { body.reserveCapacity(maxBodyBytes) }
  }

  /// The handle must be out of the multi handle by now.
  deinit {
    curl_easy_cleanup(easy)
    // libcurl's memory is wiped as it is freed (shim.h).
    curl_slist_free_all(headers)
    if let requestBody {
      wipe(requestBody)
      requestBody.deallocate()
    }
    if holdsSecrets { wipe(&body) }
  }

  /// What the transfer came to, once it has ended with `code`. Hands the body over.
  func outcome(_ code: CURLcode) -> Result<HTTPResponse, TransportError> {
    if let refusal { return .failure(refusal) }
    guard code == CURLE_OK else {
      return .failure(
        CurlError.error(
          code, begun: begun > 0, origin: origin,
          verification: brewlog_easy_get_long(easy, CURLINFO_SSL_VERIFYRESULT)))
    }
    // libcurl takes a head that was cut off for an answer without a body.
    guard headIsWhole else {
      return .failure(TransportError(.lost, reason: "no whole answer from \(origin)"))
    }
    let status = brewlog_easy_get_long(easy, CURLINFO_RESPONSE_CODE)
    // Moved, not copied, so that whoever takes it can wipe it.
    let whole = body
    body = []
    return .success(HTTPResponse(status: Int(status), fields: fields, body: whole))
  }

  /// The request went out and nothing whole came back; the connection may lead nowhere.
  var isUnanswered: Bool { begun > 0 }

  /// The deadline came before the end.
  var timedOut: TransportError {
    begun > 0
      ? TransportError(.lost, reason: "no whole answer from \(origin) in time")
      : TransportError(.unreachable, reason: "no connection to \(origin) in time")
  }

  func mayReach(_ address: String) -> Bool { isAllowed(address) }

  func refusedCleartext(_ address: String) -> TransportError {
    TransportError(
      .forbidden,
      reason: "\(origin) is not on this host (\(address)): cleartext to it needs AllowCleartext=yes"
    )
  }

  // MARK: Callbacks

  /// A connection stands and the request is about to be written; `address` is the other end's.
  /// False: it may not.
  func mayWrite(to address: String) -> Bool {
    guard mayReach(address) else {
      refusal = refusedCleartext(address)
      return false
    }
    // libcurl wants to send it again, since the connection died unanswered. Whether that is right
    // is not its decision: tries are counted.
    guard begun == 0 else {
      refusal = TransportError(
        .lost, reason: "\(origin) closed the connection without an answer")
      return false
    }
    begun += 1
    return true
  }

  /// One line of a head. False: too much.
  func receive(headerLine bytes: UnsafeRawBufferPointer) -> Bool {
    headBytes += bytes.count
    guard headBytes <= Transfer.maxHeadBytes else {
      refusal = TransportError(.malformed, reason: "\(origin) sent an endless head")
      return false
    }
    // A new head: what came before was an interim answer.
    if bytes.starts(with: "HTTP/".utf8) {
      fields = []
      headIsWhole = false
      return true
    }
    if bytes.elementsEqual("\r\n".utf8) || bytes.elementsEqual("\n".utf8) { headIsWhole = true }
    // Fields after the head are trailers; none is of use here.
    guard !headIsWhole, let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return true }
    fields.append(HTTPField(Transfer.text(bytes[..<colon]), Transfer.text(bytes[(colon + 1)...])))
    return true
  }

  /// A piece of the body, decompressed. False: it would pass the bound.
  func receive(bodyPart bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count <= maxBodyBytes - body.count else {
      refusal = TransportError(
        .malformed, reason: "\(origin) sent more than \(maxBodyBytes) bytes")
      return false
    }
    body.append(contentsOf: bytes)
    return true
  }

  /// The text without the white space around it.
  private static func text(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
    func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
    guard let first = bytes.firstIndex(where: { !isSpace($0) }),
      let last = bytes.lastIndex(where: { !isSpace($0) })
    else { return "" }
    return String(decoding: bytes[first...last], as: UTF8.self)
  }
}
