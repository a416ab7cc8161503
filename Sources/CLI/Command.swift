/// An option as help shows it and the parser takes it.
package struct OptionSpec: Sendable {
  package let name: String
  /// The placeholder of its value; nil: it takes none.
  package let value: String?
  package let help: String

  package init(_ name: String, _ value: String? = nil, _ help: String) {
    self.name = name
    self.value = value
    self.help = help
  }

  var synopsis: String { value.map { "\(name) \($0)" } ?? name }
}

/// One verb of the command line: what it is called, what it takes, what it does.
package struct Command: Sendable {
  package struct Operand: Sendable {
    package let name: String
    package let optional: Bool

    package init(_ name: String, optional: Bool = false) {
      self.name = name
      self.optional = optional
    }
  }

  package let name: String
  package let summary: String
  package let operands: [Operand]
  package let options: [OptionSpec]
  /// What the summary leaves open; paragraphs.
  package let details: String
  /// Words that the command knows besides its options, such as a template's fields.
  package let terms: (title: String, entries: [(name: String, help: String)])?
  /// Command lines without the program's name, each with what it is good for.
  package let examples: [(line: String, purpose: String)]
  /// Arguments of this command may be secrets by mistake: they are refused with these words, and
  /// never repeated in an error.
  package let refusal: String?
  package let run: @Sendable (CommandContext) throws(CommandFailure) -> ExitCode

  package init(
    _ name: String, _ summary: String, operands: [Operand] = [], options: [OptionSpec] = [],
    details: String = "",
    terms: (title: String, entries: [(name: String, help: String)])? = nil,
    examples: [(line: String, purpose: String)] = [],
    refusal: String? = nil,
    run: @escaping @Sendable (CommandContext) throws(CommandFailure) -> ExitCode
  ) {
    self.name = name
    self.summary = summary
    self.operands = operands
    self.options = options
    self.details = details
    self.terms = terms
    self.examples = examples
    self.refusal = refusal
    self.run = run
  }

  /// The command and what may follow it, each part to be kept on one line.
  var synopsis: [String] {
    [name] + options.map { "[\($0.synopsis)]" }
      + operands.map { $0.optional ? "[\($0.name)]" : $0.name }
  }
}
