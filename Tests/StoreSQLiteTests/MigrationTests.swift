import FaultInjection
import Foundation
import GRDB
import PushModel
import Store
import StoreContract
import StoreKit
import Testing

@testable import StoreSQLite

/// Tables that change, step by step.
struct MigrationTests {
    private let keep: TemporaryStore
    private let expand = SchemaStep(trial: .expand)
    private let contract = SchemaStep(trial: .contract)

    init() throws { self.keep = try TemporaryStore() }

    /// The version of this program, from which the tests' steps lead on.
    private static let version = Schema.plan.version

    /// How a program with these further steps opens the store.
    private func program(_ steps: SchemaStep..., path: String? = nil) -> SQLiteStore.Configuration {
        var configuration = SQLiteStore.Configuration(path: path ?? self.keep.store.configuration.path)
        configuration.schema = SchemaPlan(steps: Schema.plan.steps + steps)
        return configuration
    }

    private func open(_ configuration: SQLiteStore.Configuration) throws -> SQLiteStore {
        try SQLiteStore(configuration: configuration, source: self.keep.time)
    }

    private func refusal(_ configuration: SQLiteStore.Configuration) throws -> String {
        let fault = #expect(throws: StoreError.self) { try self.open(configuration) }
        let words = try #require(fault).message
        #expect(fault?.code == .unavailable && !words.contains("\n"))
        return words
    }

    private func found() throws -> SchemaVersion {
        try SQLiteStore.pendingSteps(self.program(self.expand, self.contract)).found
    }

    @Test func aStepThatExpandsIsTakenBesideAProgramOfTheVersionBefore() async throws {
        let newer = self.program(self.expand)
        #expect(
            try self.refusal(newer)
                == """
                its tables have version \(Self.version), and this program needs version \(Self.version + 1): run pushline store migrate
                """
        )
        #expect(try SQLiteStore.pendingSteps(newer).steps.map(\.summary) == [self.expand.summary])
        let before = try await self.keep.scenario.accept(self.keep.scenario.campaign(to: "t"))
        try SQLiteStore.takeStep(to: Self.version + 1, newer)
        #expect(try SQLiteStore.pendingSteps(newer).steps.isEmpty)
        // The old one goes on, and another of it opens the store.
        _ = try await self.keep.scenario.accept(self.keep.scenario.campaign(to: "t"))
        _ = try self.keep.another()
        let store = try self.open(newer)
        #expect(try await store.job(before.id, app: .default)?.state == .queued)
        #expect(try await store.checkFile() == [])
    }

    @Test func aStepThatContractsWaitsForTheEndOfOlderPrograms() async throws {
        let newest = self.program(self.expand, self.contract)
        try SQLiteStore.takeStep(to: Self.version + 1, newest)
        do {
            let older = try self.open(self.program(self.expand))
            let fault = #expect(throws: StoreError.self) { try SQLiteStore.takeStep(to: Self.version + 2, newest) }
            #expect(fault?.code == .conflict)
            // The oldest one is named first: the test's own store.
            #expect(fault?.message.contains("one of version \(Self.version) has the store open") == true)
            withExtendedLifetime(older) {}
        }
        #expect(try self.found() == SchemaVersion(number: Self.version + 1, opensFrom: Self.version))
    }

    @Test func afterAStepThatContractsOlderProgramsAreRefused() async throws {
        let path = self.keep.folder.appending(path: "own.sqlite").path
        do { _ = try self.open(self.program(path: path)) }
        let newest = self.program(self.expand, self.contract, path: path)
        for number in Self.version + 1...Self.version + 2 { try SQLiteStore.takeStep(to: number, newest) }
        // Taken again by somebody who came late, it does nothing.
        try SQLiteStore.takeStep(to: Self.version + 2, newest)
        let words = try self.refusal(self.program(self.expand, path: path))
        let (newer, own) = (Self.version + 2, Self.version + 1)
        #expect(
            words.contains(
                "its tables have version \(newer), made by a newer Pushline, and this program needs version \(own)"
            )
        )
        _ = try self.open(newest)
    }

    /// A step that fails has done nothing, whatever of it came first.
    @Test func aStepIsOneTransaction() throws {
        let before = try self.found()
        let broken = SchemaStep(.expand, "half", sql: "CREATE TABLE half(a INTEGER); CREATE TABLE half(a INTEGER)")
        #expect(throws: StoreError.self) { try SQLiteStore.takeStep(to: Self.version + 1, self.program(broken)) }
        #expect(try self.found() == before)
        try SQLiteStore.takeStep(
            to: Self.version + 1,
            self.program(SchemaStep(.expand, "whole", sql: "CREATE TABLE half(a INTEGER)"))
        )
    }

    /// A store that is made today is the same as one that has grown.
    @Test func aNewStoreTakesEveryStep() async throws {
        let made = try self.open(self.program(self.expand, path: self.keep.folder.appending(path: "new.sqlite").path))
        try SQLiteStore.takeStep(to: Self.version + 1, self.program(self.expand))
        func tables(_ store: SQLiteStore) async throws -> Set<String> {
            try await store.pool.read { database in
                Set(
                    try String.fetchAll(
                        database,
                        sql: "SELECT name || coalesce(sql, '') FROM sqlite_master WHERE type <> 'trigger'"
                    )
                )
            }
        }
        #expect(try await tables(made) == tables(self.keep.store))
    }

    /// A store from before versions were counted, and one of another program.
    @Test(arguments: ["DROP TABLE schema", "DELETE FROM schema"])
    func aStoreFromWhichNoStepsLeadIsRefused(sql: String) async throws {
        try await self.keep.store.pool.writeWithoutTransaction { try $0.execute(sql: sql) }
        #expect(try self.refusal(self.program()).contains("from which no steps lead"))
        #expect(throws: StoreError.self) { try SQLiteStore.pendingSteps(self.program(self.expand)) }
    }

    @Test func backupsKnowTheirVersion() throws {
        let newest = self.program(self.expand)
        let (old, new) = (self.keep.folder.appending(path: "old").path, self.keep.folder.appending(path: "new").path)
        try SQLiteStore.backUp(newest.path, to: old)
        try SQLiteStore.takeStep(to: Self.version + 1, newest)
        try SQLiteStore.backUp(newest.path, to: new)
        // An older one is restored as it is, and migrated then; one that needs a newer program is refused.
        let restored = self.keep.folder.appending(path: "restored.sqlite").path
        try SQLiteStore.restore(old, to: restored, plan: newest.schema)
        try SQLiteStore.takeStep(to: Self.version + 1, self.program(self.expand, path: restored))
        _ = try self.open(self.program(self.expand, path: restored))
        let contracted = self.keep.folder.appending(path: "contracted.sqlite").path
        try SQLiteStore.restore(old, to: contracted, plan: newest.schema)
        for number in Self.version + 1...Self.version + 2 {
            try SQLiteStore.takeStep(to: number, self.program(self.expand, self.contract, path: contracted))
        }
        let fault = #expect(throws: StoreError.self) {
            try SQLiteStore.restore(
                contracted,
                to: self.keep.folder.appending(path: "no.sqlite").path,
                plan: newest.schema
            )
        }
        #expect(fault?.message.contains("made by a newer Pushline") == true)
        #expect(!FileManager.default.fileExists(atPath: self.keep.folder.appending(path: "no.sqlite").path))
    }
}
