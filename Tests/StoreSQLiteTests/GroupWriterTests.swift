import GRDB
import PushModel
import Store
import StoreContract
import StoreKit
import Testing
import Undisturbed

@testable import StoreSQLite

/// A change that fails leaves nothing behind, alone as in a group, and takes nobody with it (rules 3 and 8).
@Suite(.undisturbed) struct GroupWriterTests {
    private struct Failed: Error {}

    private let keep: TemporaryStore

    init() throws { self.keep = try TemporaryStore() }

    /// Adds an app with a job more, and fails behind that if it is to.
    private func add(_ name: String, _ size: GroupWriter.Size = .ordinary, fails: Bool = false) async -> Bool {
        do {
            try await self.keep.store.write(size) { context in
                try context.database.run("INSERT INTO app(name) VALUES (?)", [name])
                context.count(BacklogChange(from: nil, to: .queued))
                if fails { throw Failed() }
            }
            return true
        } catch { return false }
    }

    private func apps() async throws -> [String] {
        try await self.keep.store.read { database in
            try database.all("SELECT name FROM app WHERE name <> 'default' ORDER BY name") { $0[0] as String }
        }
    }

    private func expect(_ names: [String]) async throws {
        #expect(try await self.apps() == names)
        let unfinished = try await self.keep.store.read {
            try $0.first("SELECT unfinished FROM backlog") { $0[0] as Int }
        }
        #expect(unfinished == names.count)
    }

    @Test(arguments: [GroupWriter.Size.short, .ordinary, .bulk])
    func aFailedWriteLeavesNothing(size: GroupWriter.Size) async throws {
        #expect(await !self.add("a", size, fails: true))
        try await self.expect([])
        #expect(await self.add("b", size))
        #expect(await !self.add("c", size, fails: true))
        #expect(await self.add("d", .short))
        try await self.expect(["b", "d"])
    }

    @Test(arguments: [[0], [0, 1], [0, 2, 4], [1, 3], [0, 1, 2, 3, 4, 5]])
    func failedWritesOfAGroupDoNotFailTheOthers(failing: [Int]) async throws {
        let lock = try FileLock(path: self.keep.store.configuration.path + ".writer")
        #expect(lock.tryLock())
        let done = try await withThrowingTaskGroup(of: (Int, Bool).self) { group in
            for number in 0..<6 {
                // The fourth has a transaction of its own.
                group.addTask {
                    (
                        number,
                        await self.add("app\(number)", number == 3 ? .bulk : .ordinary, fails: failing.contains(number))
                    )
                }
                try await Task.sleep(for: .milliseconds(10))
            }
            lock.unlock()
            var done: [Int] = []
            for try await (number, isDone) in group where isDone { done.append(number) }
            return done.sorted()
        }
        let good = (0..<6).filter { !failing.contains($0) }
        #expect(done == good)
        try await self.expect(good.map { "app\($0)" })
    }
}
