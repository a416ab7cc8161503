import FoundationEssentials
import Session
import Store
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ErasureTests {
  @Test func `a session in use leaves no finding`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(1)
      try await store.sessions.commit(1, rotation: 1)
      #expect(try await store.sessions.verifyErasure() == [])
    }
  }

  @Test func `many sessions, one after the other, leave no finding`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      for generation in stride(from: 1, to: 40, by: 2) as StrideTo<UInt64> {
        try await store.sessions.install(generation)
        for index in 0..<20 {
          try await store.tips.put(
            try Dummy.tip(generation, id: "tip-\(index)"), permit: try Dummy.permit(generation))
        }
        try await store.sessions.commit(generation, rotation: 1)
        try await store.sessions.destroy(through: Generation(generation + 1), reason: "logout")
      }
      #expect(try await store.sessions.verifyErasure() == [])
    }
  }

  @Test func `a key of an earlier session is found`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(1)
      let name = try fixture.sessionKeys()[0]
      let key = try fixture.contents(name)
      try await store.sessions.destroy(through: Generation(2), reason: "logout")
      try fixture.put(key, name)
      #expect(
        try await store.sessions.verifyErasure() == ["\(name) belongs to an earlier session"])
    }
  }

  @Test func `a copy that a key here opens is found, and is none after the logout`()
    async throws
  {
    let fixture = try StoreFixture()
    try await fixture.life { try await $0.sessions.install(1) }
    let copy = try fixture.contents("session.db")
    try fixture.put(copy, "session.db.backup-v1")
    try fixture.put(copy, "session.db.damaged-20250101T000000Z")
    try await fixture.life { store in
      _ = try await store.sessions.loaded()
      #expect(try await store.sessions.verifyErasure().count == 2)
      try await store.sessions.destroy(through: Generation(2), reason: "logout")
      #expect(try await store.sessions.verifyErasure() == [])
    }
    #expect(try !fixture.names().contains("session.db.backup-v1"))
    #expect(try fixture.names().contains("session.db.damaged-20250101T000000Z"))
  }

  @Test func `a log that cannot be emptied is found`() async throws {
    let fixture = try StoreFixture()
    try await fixture.life { store in
      try await store.sessions.install(1)
      try await store.sessions.commit(1, rotation: 1)
      let reader = try HoldingReader(fixture.path("session.db"))
      try await store.sessions.commit(1, rotation: 2)
      #expect(try await store.sessions.verifyErasure().count == 1)
      reader.close()
      #expect(try await store.sessions.verifyErasure() == [])
    }
  }
}
