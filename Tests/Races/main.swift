import Glibc
import PlainSecrets
import Simulation

plain_secrets()
exit(Races.main(Array(CommandLine.arguments.dropFirst())))
