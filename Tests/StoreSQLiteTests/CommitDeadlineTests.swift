import Foundation
import GRDB
import NIOConcurrencyHelpers
import PushModel
import Store
import StoreContract
import Testing
import Undisturbed

@testable import StoreSQLite

/// A write that has not begun in its request's time is never begun; one that has begun is waited for.
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct CommitDeadlineTests {
    private let keep: TemporaryStore

    init() throws { self.keep = try TemporaryStore() }

    private func add(_ name: String, within time: Duration, _ also: @escaping @Sendable () -> Void = {}) async throws {
        try await CommitDeadline.$current.withValue(CommitDeadline(time)) {
            try await self.keep.store.write { context in
                try context.database.run("INSERT INTO app(name) VALUES (?)", [name])
                also()
            }
        }
    }

    private func apps() async throws -> [String] {
        try await self.keep.store.read { database in
            try database.all("SELECT name FROM app WHERE name <> 'default' ORDER BY name") { $0[0] as String }
        }
    }

    /// - Returns: The code of the error that it ends with.
    private func code(_ body: () async throws -> Void) async -> StoreError.Code? {
        do { try await body() } catch { return (error as? StoreError)?.code }
        return nil
    }

    /// Another process writes: those who come meanwhile leave in their time, also while the writer waits for its turn.
    @Test func whoDoesNotReachTheCommitLeavesTheQueue() async throws {
        let lock = try FileLock(path: self.keep.store.configuration.path + ".writer")
        #expect(lock.tryLock())
        async let patient: Void = self.add("patient", within: .seconds(60))
        async let unlimited: Void = self.keep.store.write { context in
            try context.database.run("INSERT INTO app(name) VALUES ('unlimited')")
        }
        let codes = await withTaskGroup(of: StoreError.Code?.self) { group in
            for number in 0..<5 {
                group.addTask { await self.code { try await self.add("late\(number)", within: .milliseconds(20)) } }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        // They were told before anything was written at all.
        #expect(codes == Array(repeating: .overdue, count: 5))
        #expect(try await self.apps().isEmpty)
        lock.unlock()
        try await patient
        try await unlimited
        #expect(try await self.apps() == ["patient", "unlimited"])
    }

    @Test func whoIsTooLateDoesNotBegin() async throws {
        #expect(await self.code { try await self.add("late", within: .zero) } == .overdue)
        #expect(try await self.apps().isEmpty)
    }

    /// What is in a commit cannot be taken back: the caller is told how it ends.
    @Test func whoseCommitHasBegunWaitsForIt() async throws {
        try await self.add("slow", within: .milliseconds(400)) { usleep(500_000) }
        #expect(try await self.apps() == ["slow"])
    }

    /// What follows is of a request that has written something already.
    @Test func afterTheFirstCommitThereIsNoHurry() async throws {
        let deadline = CommitDeadline(.milliseconds(400))
        try await CommitDeadline.$current.withValue(deadline) {
            for name in ["a", "b"] {
                try await self.keep.store.write { context in
                    try context.database.run("INSERT INTO app(name) VALUES (?)", [name])
                    if name == "a" { usleep(500_000) }
                }
            }
        }
        #expect(try await self.apps() == ["a", "b"])
    }

    /// The same while another group is in its commit.
    @Test func aCommitUnderWayDoesNotHoldTheLate() async throws {
        let (hasBegun, isReleased) = (NIOLockedValueBox(false), NIOLockedValueBox(false))
        async let first: Void = self.add("first", within: .seconds(60)) {
            hasBegun.withLockedValue { $0 = true }
            while !isReleased.withLockedValue({ $0 }) { usleep(1000) }
        }
        while !hasBegun.withLockedValue({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
        async let patient: Void = self.add("patient", within: .seconds(60))
        #expect(await self.code { try await self.add("late", within: .milliseconds(20)) } == .overdue)
        isReleased.withLockedValue { $0 = true }
        try await first
        try await patient
        #expect(try await self.apps() == ["first", "patient"])
    }
}
