package import Execution
package import Secrets

package enum HTTPMethod: String, Hashable, Sendable {
  case get = "GET"
  case post = "POST"
}

/// One name and value of a header; order is kept.
package struct HTTPField: Hashable, Sendable {
  package var name: String
  package var value: String

  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

/// One request as it goes on the wire, but for its `Authorization`: that is given apart, as a
/// secret, and made anew for every try.
package struct HTTPRequest: Sendable {
  /// On which connection a request goes out.
  package enum Connection: Hashable, Sendable {
    /// On one that is kept alive, where there is one.
    case shared
    /// On a new one that is closed afterwards. A kept-alive connection may be dead without our
    /// knowing, and then nobody can tell whether the request was read; so whatever must not be
    /// carried out twice has a connection of its own.
    case own
  }

  /// Whether a redirect is followed.
  package enum Redirects: Hashable, Sendable {
    /// The 3xx is the answer.
    case returned
    /// Within the same origin, five at most; only for GET.
    case sameOrigin
  }

  /// What stands before the secret in `Authorization`.
  package enum Scheme: String, Hashable, Sendable {
    case bearer = "Bearer"
    /// The secret is the encoded pair of user and password (a client authenticating itself).
    case basic = "Basic"
  }

  package var method: HTTPMethod
  /// Absolute, already encoded; sent as it is.
  package var url: String
  package var fields: [HTTPField]
  package var body: [UInt8]?
  package var connection: Connection
  package var redirects: Redirects
  /// The body or its answer holds secrets: the transport wipes its own copies, and takes only a
  /// small answer. The owner of `body` wipes that one.
  package var holdsSecrets: Bool
  package var scheme: Scheme

  package init(
    method: HTTPMethod, url: String, fields: [HTTPField] = [], body: [UInt8]? = nil,
    connection: Connection? = nil, redirects: Redirects? = nil, holdsSecrets: Bool = false,
    scheme: Scheme = .bearer
  ) {
    self.method = method
    self.url = url
    self.fields = fields
    self.body = body
    self.connection = connection ?? (method == .get ? .shared : .own)
    self.redirects = redirects ?? (method == .get ? .sameOrigin : .returned)
    self.holdsSecrets = holdsSecrets
    self.scheme = scheme
  }
}

/// One whole answer. A body that was cut short or over the bound is a ``TransportError`` instead.
package struct HTTPResponse: Sendable {
  package var status: Int
  package var fields: [HTTPField]
  package var body: [UInt8]

  package init(status: Int, fields: [HTTPField] = [], body: [UInt8] = []) {
    self.status = status
    self.fields = fields
    self.body = body
  }

  /// The first value of a field, by its name in any case.
  package func field(_ name: String) -> String? {
    let wanted = name.lowercased()
    return fields.first { $0.name.lowercased() == wanted }?.value
  }
}

/// Why there is no whole answer. Texts are ours or the library's, never the upstream's.
package struct TransportError: Error, Equatable, Sendable {
  package enum Kind: Equatable, Sendable {
    /// Nothing was sent: no name, no route, refused, proxy.
    case unreachable
    /// No (whole) answer in time, or the connection ended before one. The request may have been
    /// carried out.
    case lost
    /// Bad certificate, bad name in it, a protocol that is not allowed, cleartext to another host:
    /// trying again changes nothing. Nothing was sent.
    case forbidden
    /// The body passed the bound, its encoding is broken, or a redirect led to another origin or
    /// round in circles.
    case malformed
    /// The URL, or a header's text, cannot be sent.
    case invalidURL
    /// The task was cancelled.
    case cancelled
  }

  package var kind: Kind
  package var reason: String

  package init(_ kind: Kind, reason: String) {
    self.kind = kind
    self.reason = reason
  }
}

/// Sends requests. One call is one request on the wire, and one more for each redirect that it
/// follows; none is ever sent a second time. A cancelled task ends the transfer at once with
/// `cancelled`.
package protocol Transport: Sendable {
  func send(_ request: HTTPRequest, bearer: consuming Secret?, deadline: Instant)
    async throws(TransportError) -> HTTPResponse
}
