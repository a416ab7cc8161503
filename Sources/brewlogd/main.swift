import Daemon

BrewlogDaemon.main()
