/// With what the daemon ends. 64, 65, 66, 73, 75 and 78 mean that a restart changes nothing
/// (sysexits.h's numbers).
package enum ExitCode: Int32, Sendable {
  case stopped = 0
  case usage = 64
  case newerSchema = 65
  case noKey = 66
  case fault = 70
  case cannotCreate = 73
  case notStored = 74
  case alreadyRunning = 75
  case configuration = 78
}
