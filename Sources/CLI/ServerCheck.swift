import BrewlogAPI
import Varlink

/// Before a token leaves this process: whoever holds the socket must be one who may have it. A
/// socket in a directory that others can write to could be anybody's.
enum ServerCheck {
  static func require(_ context: CommandContext, what: String) throws(CommandFailure) {
    let uid: UInt32
    do throws(ClientError) {
      uid = try context.daemon.serverUID()
    } catch {
      throw context.explain(error, calling: .importCredentials)
    }
    let environment = context.environment
    let trusted = context.place.daemonUsers.compactMap { environment.uidOfUser($0) }
    if uid == 0 || uid == environment.uid || trusted.contains(uid) { return }
    throw CommandFailure(
      .failed,
      "\(what) was not sent: the server at \(context.place.path) runs as uid \(uid), which is "
        + "neither root nor brewlogd's user nor you",
      remedy: "Find out who runs it: ss -xlp | grep brewlog")
  }
}
