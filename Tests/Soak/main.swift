// Long looks at a running daemon: `Soak calls|connections|crowd [N]`. See `make soak`.
runSoak()
