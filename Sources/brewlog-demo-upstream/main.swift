import DemoUpstream
import Glibc

exit(DemoProgram.run(Array(CommandLine.arguments.dropFirst())))
