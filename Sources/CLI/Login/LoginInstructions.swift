import BrewlogAPI

/// What a person has to do in an attempt to sign in: address, code, QR code.
struct LoginInstructions {
  let attempt: LoginAttempt
  let context: CommandContext

  func show() {
    if let prompt = attempt.device {
      show(prompt)
    } else if let address = attempt.authorizeUri {
      show(address)
    }
    // On a terminal, the line below counts the time down.
    if !context.appearance.redraws {
      context.output.line(
        StyledText("It ends \(context.words.relative(attempt.expiresAt)).", .faint))
    }
    if attempt.startedByUid != Int(context.environment.uid) {
      context.output.note(
        StyledText("This sign-in was begun by uid \(attempt.startedByUid); you have joined it."))
    }
  }

  private func show(_ prompt: DevicePrompt) {
    let output = context.output
    let isScreen = context.appearance.terminal
    if isScreen { output.line() }
    let margin = StyledText(isScreen ? "  " : "")
    output.line(margin + StyledText("Open  ") + StyledText(prompt.verificationUri, .accent))
    output.line(margin + StyledText("Enter ") + StyledText(prompt.userCode, .strong))
    if let complete = prompt.verificationUriComplete {
      output.line(margin + StyledText("Or open at once: " + complete, .faint))
    }
    if isScreen { output.line() }
    let address = prompt.verificationUriComplete ?? prompt.verificationUri
    // A camera follows what it reads: nothing but the web.
    guard isScreen, Self.isWeb(address), let code = QRCode(address),
      let lines = QRScreen.lines(
        code, context.appearance, rows: context.environment.terminalSize()?.rows)
    else { return }
    for line in lines { output.line("  " + line) }
    output.line()
  }

  private func show(_ address: String) {
    let output = context.output
    let isOpen =
      context.appearance.terminal && Self.isWeb(address)
      && context.environment.openBrowser(address)
    let isShown = "A browser was opened. If nothing is to be seen in it, open this in one:"
    output.line(StyledText(isOpen ? isShown : "Open in a browser:"))
    output.line(StyledText(address, .accent))
    if context.environment.standardInputIsTerminal, context.appearance.terminal {
      output.paragraph(
        StyledText(
          "Where the browser is on another machine, its last page cannot be reached: paste that "
            + "page's address here, and press Enter.", .faint))
    }
  }

  private static func isWeb(_ address: String) -> Bool {
    address.hasPrefix("https://") || address.hasPrefix("http://")
  }
}
