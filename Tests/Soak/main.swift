// Two long looks at a running daemon: `Soak calls [N]` and `Soak connections [N]`. See `make soak`.
runSoak()
