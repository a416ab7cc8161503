// Comes with the explorer.
