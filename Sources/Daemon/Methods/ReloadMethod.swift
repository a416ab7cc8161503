import BrewlogAPI
import Configuration
import Varlink

/// `org.brewlog.Service.Reload`, the same as SIGHUP.
extension MethodHandler {
  func reload(_ parameters: inout ParameterReader) throws(VarlinkError) -> Answer {
    try parameters.finish()
    return .later {
      do throws(ConfigurationError) {
        let changed = try await self.conduct.reload()
        return self.encode(
          ReloadReply(
            changed: changed.map {
              Setting(section: $0.section, key: $0.key, value: $0.value, origin: $0.origin)
            }))
      } catch {
        // One problem fits the error; the log has them all.
        let problem = error.problems.first
        let key = problem?.key.map { "\($0)=: " } ?? ""
        let more = error.problems.count > 1 ? " (and \(error.problems.count - 1) more)" : ""
        return .failure(
          APIError.invalidConfiguration(
            file: problem?.file ?? "", line: problem?.line ?? 0,
            reason: key + (problem?.message ?? "it is not valid") + more
          ).varlinkError)
      }
    }
  }
}
