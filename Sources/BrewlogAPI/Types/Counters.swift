/// What the daemon has done since it started.
package struct Counters: Codable, Hashable, Sendable {
  package var refreshesStarted: Int
  package var refreshesSucceeded: Int
  package var refreshesFailed: Int
  package var refreshWaitersJoined: Int
  package var lateResultsRejected: Int
  package var upstreamRequests: Int
  package var requestsDeduplicated: Int
  package var retries: Int
  package var cacheHits: Int
  package var cacheMisses: Int

  package init(
    refreshesStarted: Int, refreshesSucceeded: Int, refreshesFailed: Int, refreshWaitersJoined: Int,
    lateResultsRejected: Int, upstreamRequests: Int, requestsDeduplicated: Int, retries: Int,
    cacheHits: Int, cacheMisses: Int
  ) {
    self.refreshesStarted = refreshesStarted
    self.refreshesSucceeded = refreshesSucceeded
    self.refreshesFailed = refreshesFailed
    self.refreshWaitersJoined = refreshWaitersJoined
    self.lateResultsRejected = lateResultsRejected
    self.upstreamRequests = upstreamRequests
    self.requestsDeduplicated = requestsDeduplicated
    self.retries = retries
    self.cacheHits = cacheHits
    self.cacheMisses = cacheMisses
  }
}
