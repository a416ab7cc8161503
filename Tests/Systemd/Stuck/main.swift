serveWithStuckRefreshes()
