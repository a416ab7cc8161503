import Execution
import Requests
import Secrets

/// One form posted by the client to its authorization server: on a connection of its own, no
/// redirect followed, sent once, and wiped.
struct ClientRequest: Sendable {
  let transport: any Transport
  let client: OAuthClient

  /// The form of a grant; `values` bounds what it will hold beside the client's own fields.
  func form(grantType: String?, values: Int) -> FormBody {
    var form = FormBody(capacity: values + client.formCapacity)
    if let grantType { form.append("grant_type", grantType) }
    return form
  }

  func post(
    _ form: consuming FormBody, to url: String, deadline: Instant
  ) async throws(TransportError) -> HTTPResponse {
    client.addToForm(&form)
    let credentials: Secret?
    do throws(SecretError) {
      credentials = try client.basicCredentials()
    } catch {
      throw TransportError(.unreachable, reason: "no locked memory for the client's secret")
    }
    return try await SecretPost.send(
      HTTPRequest(
        method: .post, url: url,
        fields: [HTTPField("Content-Type", "application/x-www-form-urlencoded")],
        body: form.take(), scheme: .basic),
      credentials: credentials, over: transport, deadline: deadline)
  }
}

/// A POST that brings secrets or is answered by them.
enum SecretPost {
  /// Takes `request` over: its body is wiped whatever happens. The caller wipes the answer's.
  static func send(
    _ request: consuming HTTPRequest, credentials: consuming Secret?, over transport: any Transport,
    deadline: Instant
  ) async throws(TransportError) -> HTTPResponse {
    request.fields.append(HTTPField("Accept", "application/json"))
    request.connection = .own
    request.redirects = .returned
    request.holdsSecrets = true
    do throws(TransportError) {
      let response = try await transport.send(request, bearer: credentials, deadline: deadline)
      wipe(&request.body)
      return response
    } catch {
      wipe(&request.body)
      throw error
    }
  }
}
