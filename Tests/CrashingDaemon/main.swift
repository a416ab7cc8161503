// The daemon as it is built, every call of whose can be its last: orders come on descriptor 3.
import CDisk
import Daemon

_ = disk_obey(3)
BrewlogDaemon.main()
