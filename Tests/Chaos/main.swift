// A day in the life of a bad host: `Chaos [--seed N] [--seconds S]`. See `make chaos`.
runChaos()
