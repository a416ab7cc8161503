import Execution
import Requests
import Testing

/// RFC 9111 and RFC 5861, as far as a private cache needs them.
@Suite(.timeLimit(.minutes(1)))
struct CacheControlTests {
  /// 2027-01-15 08:00:00 UTC.
  private static let now = WallTime(milliseconds: 1_800_000_000_000)
  private static let silent = Duration.seconds(900)

  private func read(_ fields: [(String, String)]) -> CacheControl {
    CacheControl(
      HTTPResponse(status: 200, fields: fields.map { HTTPField($0.0, $0.1) }),
      silent: Self.silent, now: Self.now)
  }

  struct Row: Sendable, CustomTestStringConvertible {
    var fields: [(String, String)]
    /// In seconds; nil: it must not be kept.
    var lifetime: Int64?
    var testDescription: String { fields.map { "\($0.0): \($0.1)" }.joined(separator: ", ") }

    init(_ lifetime: Int64?, _ fields: (String, String)...) {
      self.lifetime = lifetime
      self.fields = fields
    }
  }

  @Test(arguments: [
    Row(900),
    Row(60, ("Cache-Control", "max-age=60")),
    Row(60, ("cache-control", "private, MAX-AGE=\"60\"")),
    Row(60, ("Cache-Control", "private"), ("Cache-Control", "max-age=60")),
    Row(0, ("Cache-Control", "max-age=0")),
    Row(40, ("Cache-Control", "max-age=60"), ("Age", "20")),
    Row(0, ("Cache-Control", "max-age=60"), ("Age", "61")),
    Row(60, ("Cache-Control", "max-age=60"), ("Age", "-1")),
    Row(0, ("Cache-Control", "max-age=soon")), Row(0, ("Cache-Control", "max-age=-5")),
    Row(0, ("Cache-Control", "max-age=1.5")), Row(0, ("Cache-Control", "max-age")),
    Row(366 * 86_400, ("Cache-Control", "max-age=99999999999999999999")),
    Row(0, ("Cache-Control", "no-cache, max-age=60")),
    Row(nil, ("Cache-Control", "no-store")), Row(nil, ("Cache-Control", "max-age=60,no-store")),
    Row(0, ("Cache-Control", "max-age=60"), ("Vary", "Accept, *")),
    Row(60, ("Cache-Control", "max-age=60"), ("Vary", "Accept")),
    // `max-age` wins over `Expires`; a shared cache's directive is not ours.
    Row(60, ("Cache-Control", "max-age=60, s-maxage=5"), ("Expires", "0")),
    Row(30, ("Expires", "Fri, 15 Jan 2027 08:00:30 GMT")),
    Row(
      30, ("Expires", "Fri, 15 Jan 2027 07:00:30 GMT"), ("Date", "Fri, 15 Jan 2027 07:00:00 GMT")),
    Row(
      20, ("Expires", "Fri, 15 Jan 2027 08:00:30 GMT"), ("Age", "10")),
    Row(0, ("Expires", "Fri, 15 Jan 2027 07:59:59 GMT")), Row(0, ("Expires", "0")),
    Row(0, ("Expires", "-1")),
  ])
  func `a lifetime is what the upstream says, or the configuration's`(row: Row) {
    let control = read(row.fields)
    #expect(control.lifetime == row.lifetime.map { .seconds($0) })
    #expect(control.isExplicit == !row.fields.isEmpty)
  }

  @Test func `a stale answer is served as long as the upstream allows`() {
    let silent = read([])
    #expect(silent.staleIfError == nil)
    #expect(silent.staleWhileRevalidate == .zero)
    let said = read([
      ("Cache-Control", "max-age=1, stale-if-error=86400, stale-while-revalidate=30")
    ])
    #expect(said.staleIfError == .seconds(86_400))
    #expect(said.staleWhileRevalidate == .seconds(30))
    for word in ["must-revalidate", "no-cache"] {
      let forbidden = read([
        ("Cache-Control", "max-age=1, stale-if-error=60, stale-while-revalidate=30, \(word)")
      ])
      #expect(forbidden.staleIfError == .zero)
      #expect(forbidden.staleWhileRevalidate == .zero)
    }
  }
}
