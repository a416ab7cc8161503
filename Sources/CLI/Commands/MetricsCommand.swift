import BrewlogAPI

/// `metrics`: OpenMetrics text, for a collector.
enum MetricsCommand {
  static let command = Command(
    "metrics", "print metrics in the OpenMetrics text format",
    examples: [
      (
        "metrics > /var/lib/node_exporter/brewlog.prom",
        "for a collector that reads files"
      )
    ],
    run: run)

  static func run(_ context: CommandContext) throws(CommandFailure) -> ExitCode {
    let reply = try context.ask(.metrics, as: MetricsReply.self)
    if !context.json { context.output.block(reply.openMetrics) }
    return .done
  }
}
