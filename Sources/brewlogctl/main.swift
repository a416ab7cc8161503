import CLI

runCommandLineTool()
