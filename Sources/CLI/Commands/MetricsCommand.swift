import BrewlogAPI

/// `metrics`: OpenMetrics text, for a collector.
enum MetricsCommand {
  static let command = Command(
    "metrics", "print metrics in the OpenMetrics text format",
    options: [
      OptionSpec("--prometheus", nil, "in Prometheus' older text format instead")
    ],
    details:
      "node_exporter's textfile collector and promtool read the older format; a timer that writes it "
      + "is in the examples of the package's documentation.",
    examples: [
      ("metrics --prometheus | promtool check metrics", "looks for what is against the conventions")
    ],
    run: run)

  static func run(_ context: CommandContext) throws(CommandFailure) -> ExitCode {
    let reply = try context.ask(.metrics, as: MetricsReply.self)
    if context.json { return .done }
    context.output.block(
      context.arguments.has("--prometheus")
        ? PrometheusText.converted(reply.openMetrics) : reply.openMetrics)
    return .done
  }
}
