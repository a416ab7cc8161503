import CCurl
import Requests

/// What libcurl's result codes mean for a request.
enum CurlError {
  /// `begun`: the request may have been sent, wholly or in part.
  static func kind(of code: CURLcode, begun: Bool) -> TransportError.Kind {
    switch code {
    case CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT,
      CURLE_PROXY, CURLE_INTERFACE_FAILED:
      .unreachable
    case CURLE_URL_MALFORMAT: .invalidURL
    // Also what an answer without a head ("HTTP/0.9") ends in.
    case CURLE_UNSUPPORTED_PROTOCOL: begun ? .malformed : .forbidden
    case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM,
      CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR,
      CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT,
      CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED,
      CURLE_USE_SSL_FAILED, CURLE_NOT_BUILT_IN:
      .forbidden
    case CURLE_BAD_CONTENT_ENCODING, CURLE_FILESIZE_EXCEEDED, CURLE_WEIRD_SERVER_REPLY,
      CURLE_WRITE_ERROR, CURLE_TOO_MANY_REDIRECTS:
      .malformed
    // Time-outs, resets, a body cut short, a broken stream, no memory.
    default: begun ? .lost : .unreachable
    }
  }

  /// The same by number, for tables that do not know libcurl.
  static func kind(ofCode number: UInt32, begun: Bool) -> TransportError.Kind {
    kind(of: CURLcode(rawValue: number), begun: begun)
  }

  /// The text is libcurl's for the code, never the one for the transfer: that may quote a header.
  /// `verification` is what the TLS library found wrong with the certificate, 0: nothing.
  static func error(
    _ code: CURLcode, begun: Bool, origin: String, verification: Int = 0
  ) -> TransportError {
    let detail =
      switch code {
      case CURLE_PEER_FAILED_VERIFICATION: certificateFault(verification)
      case CURLE_SSL_CACERT_BADFILE:
        "the certificates to trust (CAFile=, or else the system's) cannot be read"
      default: String(cString: curl_easy_strerror(code))
      }
    let kind = kind(of: code, begun: begun)
    let what =
      switch kind {
      case .unreachable: "no connection to \(origin)"
      case .lost: "no whole answer from \(origin)"
      case .forbidden: "\(origin) may not be used"
      case .malformed: "\(origin) answered what is not proper HTTP"
      case .invalidURL: "a URL that cannot be used"
      case .cancelled: "the request was given up"
      }
    return TransportError(kind, reason: "\(what): \(detail)")
  }

  /// libcurl's own text is the same for all of these. The numbers are OpenSSL's (X509_V_ERR_…, in
  /// openssl/x509_vfy.h). libcurl compares the name itself, and first: then the number is still 1.
  private static func certificateFault(_ verification: Int) -> String {
    switch verification {
    case 0, 1: "its certificate is for another name"
    case 9: "its certificate is not valid yet; look at this host's clock"
    case 10: "its certificate has expired"
    case 2, 18, 19, 20, 21:
      "its certificate is from nobody whom this host trusts; CAFile= can name whom to trust"
    case 23: "its certificate has been revoked"
    default: "its certificate is not good (\(verification))"
    }
  }
}
