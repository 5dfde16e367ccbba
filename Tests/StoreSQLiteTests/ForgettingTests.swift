import Foundation
import GRDB
import PushModel
import Store
import StoreContract
import StoreSQL
import Testing

@testable import StoreSQLite

/// What the tables keep of handles, ids and register work, and for how long.
struct ForgettingTests {
    private let keep: TemporaryStore
    private let scenario: Scenario
    private var store: SQLiteStore { self.keep.store }

    init() throws {
        self.keep = try TemporaryStore()
        self.scenario = self.keep.scenario
    }

    private func rows(_ table: String) async throws -> Int {
        try await self.keep.store.pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") ?? 0 }
    }

    private func delete(_ id: RegistrationID, sequence: Int64, app: AppID = .default) async throws -> RegisterResult? {
        try await self.store.register(.delete(id), of: RegisterJob(app: app, sequence: sequence))
    }

    @Test func releasedHandlesAreForgottenAfterTheOldestJob() async throws {
        func count() async throws -> Int {
            try await self.keep.store.pool.read {
                try Int.fetchOne($0, sql: "SELECT count(*) FROM released_handle") ?? 0
            }
        }
        for number in 0..<5 {
            let id = try await self.scenario.register(user: "ann", handle: "aa\(number)")
            #expect(try await self.delete(id, sequence: self.scenario.sequence()) == .done)
        }
        self.keep.time.advance(.seconds(2 * 86_400 - 1))
        try await self.scenario.expireRegistrations(limit: 3)
        #expect(try await count() == 5)
        // A clock that somebody sets ahead makes nothing old.
        self.keep.time.jump(.seconds(86_400))
        try await self.scenario.expireRegistrations(limit: 3)
        #expect(try await count() == 5)
        self.keep.time.advance(.seconds(1))
        for left in [2, 0, 0] {
            try await self.scenario.expireRegistrations(limit: 3)
            #expect(try await count() == left)
        }
    }

    @Test func tombstonesAreBoundedAndForgottenAfterTwoDays() async throws {
        var first: Int64?
        for number in 0..<10 {
            let sequence = try await self.scenario.sequence()
            first = first ?? sequence
            let delete = RegisterRequest.delete(try #require(RegistrationID("x\(number)")))
            for _ in 0..<2 { #expect(try await self.scenario.change(delete, sequence: sequence) == .notFound) }
        }
        #expect(try await self.rows("tombstone") == 3)
        #expect(try await self.scenario.change(.delete(.random()), user: "bob") == .notFound)
        #expect(try await self.rows("tombstone") == 4)
        let earlier = try #require(first) - 1
        #expect(try await self.scenario.put("x9", sequence: earlier) == .superseded)
        self.keep.time.advance(.seconds(2 * 86_400 - 1))
        try await self.scenario.expireRegistrations(limit: 10)
        #expect(try await self.rows("tombstone") == 4)
        // A clock that somebody sets ahead makes nothing old.
        self.keep.time.jump(.seconds(86_400))
        try await self.scenario.expireRegistrations(limit: 10)
        #expect(try await self.rows("tombstone") == 4)
        self.keep.time.advance(.seconds(1))
        try await self.scenario.expireRegistrations(limit: 10)
        #expect(try await self.rows("tombstone") == 0)
    }

    /// A wall clock that was set ahead makes it no blank registration.
    @Test func aDeadLetterWithoutWorkIsNotReplayed() async throws {
        let upsert = RegisterRequest.Upsert(pns: .apns, handle: Handle(stored: "aa"), tags: [])
        let job = try await self.scenario.accept(
            NewJob(app: .default, work: .register(.upsert(.random(), upsert)), lifetime: .seconds(86_400))
        )
        try await self.scenario.deadLetter("\(self.scenario.message(of: job.id).id)", type: "register")
        let letters = try await self.store.deadLetters(DeadLetterQuery(app: .default, limit: 1))
        let letter = try #require(letters.items.first)
        try await self.keep.store.pool.write { try $0.execute(sql: "UPDATE dead SET work = NULL") }
        #expect(
            try await self.store.replay(deadLetter: letter.id, app: .default)
                == .refused("its handle was removed")
        )
    }
}
