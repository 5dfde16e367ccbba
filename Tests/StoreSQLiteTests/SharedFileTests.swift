import Foundation
import GRDB
import LogRecorder
import Logging
import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing
import Undisturbed

@testable import StoreSQLite

/// What is SQLite's own: several processes on one file, crashes, locks, group commits, clocks (rule 8, rule 13).
@Suite(.undisturbed) struct SharedFileTests {
    @Test func concurrentWritesShareACommit() async throws {
        let keep = try TemporaryStore()
        let scenario = keep.scenario
        let before = keep.store.writer.commits
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<500 {
                group.addTask { _ = try await scenario.accept(scenario.send(to: .tag(try Tag("t", .folded)))) }
            }
            try await group.waitForAll()
        }
        #expect(keep.store.writer.commits - before < 100)
        #expect(try await keep.store.jobs(JobQuery(app: .default, limit: 1000)).items.count == 500)
    }

    /// What root makes there no service could open, each of which would end at its start.
    @Test(.enabled(if: geteuid() == 0)) func rootOpensNoStoreInTheFolderOfAnotherUser() throws {
        let keep = try TemporaryStore()
        try FileManager.default.setAttributes([.ownerAccountID: 1], ofItemAtPath: keep.folder.path)
        let error = try #require(throws: StoreError.self) { _ = try keep.another() }
        #expect(error.message.contains("its folder belongs to daemon"), "\(error.message)")
        #expect(error.message.contains("runuser -u daemon -- "), "\(error.message)")
        try FileManager.default.setAttributes([.ownerAccountID: 0], ofItemAtPath: keep.folder.path)
        _ = try keep.another()
    }

    @Test func aFailureInAGroupUndoesOnlyItself() async throws {
        let keep = try TemporaryStore()
        let key = APIKey(app: .default, name: "same", role: .sender, created: keep.time.wall, revoked: nil)
        let added = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<20 {
                group.addTask {
                    do {
                        _ = try await keep.store.apply(.key(.add(key, hash: [UInt8(number)])))
                        return true
                    } catch { return false }
                }
                group.addTask {
                    do {
                        _ = try await keep.store.put(
                            StoredContent(owner: nil, mediaType: "a/b", bytes: [1]),
                            app: .default
                        )
                        return true
                    } catch { return false }
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(added == 21)
    }

    @Test func twoStoresOnOneFileBothWrite() async throws {
        let keep = try TemporaryStore()
        let stores = [keep.store, try keep.another()]
        let slowest = try await withThrowingTaskGroup(of: Duration.self) { group in
            for store in stores {
                for _ in 0..<4 {
                    group.addTask {
                        let scenario = Scenario(store: store, time: keep.time)
                        var slowest = Duration.zero
                        for _ in 0..<50 {
                            let start = ContinuousClock.now
                            _ = try await scenario.accept(scenario.send(to: .tag(try Tag("t", .folded))))
                            slowest = max(slowest, ContinuousClock.now - start)
                        }
                        return slowest
                    }
                }
            }
            return try await group.reduce(.zero) { max($0, $1) }
        }
        #expect(slowest < .seconds(30))
        #expect(try await stores[1].jobs(JobQuery(app: .default, limit: 1000)).items.count == 400)
    }

    @Test func acceptedJobsSurviveACrash() async throws {
        let keep = try TemporaryStore()
        let scenario = keep.scenario
        let job = try await scenario.accept(scenario.send(to: .tag(Tag("t", .folded))))
        // The files as they are at this moment: what a killed process leaves.
        let image = keep.folder.appendingPathComponent("crashed.sqlite").path
        let path = keep.store.configuration.path
        try FileManager.default.copyItem(atPath: path, toPath: image)
        try FileManager.default.copyItem(atPath: path + "-wal", toPath: image + "-wal")
        let other = try SQLiteStore(configuration: .init(path: image), source: keep.time)
        #expect(try await other.job(job.id, app: .default) == job)
    }

    @Test(arguments: ["", "-wal", "-shm", ".writer", ".waiting", ".users"])
    func filesAreReadableByTheirOwnerOnly(suffix: String) throws {
        let keep = try TemporaryStore()
        let path = keep.store.configuration.path + suffix
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test func aFullDiskIsUnavailableAndRecovers() async throws {
        let keep = try TemporaryStore()
        let scenario = keep.scenario
        let first = try await scenario.accept(scenario.send(to: .tag(Tag("t", .folded))))
        // To SQLite no room is no room, whoever says so.
        func limit(_ pages: Int) throws {
            try keep.store.pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = \(pages)") }
        }
        try limit(1)
        var accepted = [first.id]
        let error = await #expect(throws: StoreError.self) {
            for _ in 0..<10_000 {
                accepted.append(try await scenario.accept(scenario.send(to: .tag(Tag("t", .folded)))).id)
            }
        }
        #expect(error?.code == .unavailable)
        #expect(error?.message.hasPrefix("the disk is full") == true)
        // What was accepted can be read, and is all there.
        #expect(try await keep.store.job(first.id, app: .default) == first)
        try limit(1_000_000)
        accepted.append(try await scenario.accept(scenario.send(to: .tag(Tag("t", .folded)))).id)
        let found = try await keep.store.jobs(JobQuery(app: .default, limit: 1000)).items.map(\.id)
        #expect(Set(found) == Set(accepted) || accepted.count > 1000)
    }

    @Test func aLockedStoreIsUnavailableAndRecovers() async throws {
        let keep = try TemporaryStore(timeout: .milliseconds(200))
        let scenario = keep.scenario
        var settings = Configuration()
        settings.allowsUnsafeTransactions = true
        let foreign = try DatabaseQueue(path: keep.store.configuration.path, configuration: settings)
        try await foreign.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        let error = await #expect(throws: StoreError.self) {
            _ = try await scenario.accept(scenario.send(to: .tag(try Tag("t", .folded))))
        }
        #expect(error?.code == .unavailable)
        _ = try await keep.store.state()
        try await foreign.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        _ = try await scenario.accept(scenario.send(to: .tag(Tag("t", .folded))))
        #expect(try await keep.store.jobs(JobQuery(app: .default)).items.count == 1)
    }

    @Test func openingWaitsForALockedFile() async throws {
        let keep = try TemporaryStore()
        var settings = Configuration()
        settings.allowsUnsafeTransactions = true
        let path = keep.store.configuration.path
        let holder = try DatabaseQueue(path: path, configuration: settings)
        try await holder.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        async let other = SQLiteStore.open(.init(path: path, timeout: .milliseconds(100)), source: keep.time)
        // Well beyond SQLite's own busy timeout.
        try await Task.sleep(for: .seconds(1))
        try await holder.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        _ = try await other.state()
    }

    @Test func aWriterStuckInAnotherProcessMakesTheStoreUnavailable() async throws {
        let keep = try TemporaryStore(timeout: .milliseconds(200))
        let scenario = keep.scenario
        let lock = try FileLock(path: keep.store.configuration.path + ".writer")
        #expect(lock.tryLock())
        let error = await #expect(throws: StoreError.self) {
            _ = try await scenario.accept(scenario.send(to: .tag(try Tag("t", .folded))))
        }
        #expect(error?.code == .unavailable)
        lock.unlock()
        _ = try await scenario.accept(scenario.send(to: .tag(Tag("t", .folded))))
    }

    @Test func aCancelledCallerLosesNothing() async throws {
        let keep = try TemporaryStore()
        let scenario = keep.scenario
        let task = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return try await scenario.accept(scenario.send(to: .tag(try Tag("t", .folded))))
        }
        let job = try await task.value
        #expect(try await scenario.job(job.id).id == job.id)
    }

    @Test(arguments: [Duration.seconds(3600), .seconds(-3600)])
    func theClockContinuesAfterAReboot(wall: Duration) async throws {
        let keep = try TemporaryStore()
        keep.time.advance(.seconds(100))
        let scenario = keep.scenario
        _ = try await scenario.accept(scenario.send(to: .tag(Tag("t", .folded))))
        let before = keep.store.clock.now
        let later = TestTime()
        later.jump(wall)
        later.reboot("second")
        let again = try keep.another(time: later)
        #expect(again.clock.now == max(before, later.wall.milliseconds))
        // A process that starts within the same boot agrees.
        later.advance(.seconds(5))
        #expect(try keep.another(time: later).clock.now == again.clock.now)
        #expect(try await again.takeDue([.send], overdue: .zero, limit: 1).count == 1)
    }

    @Test func theLogIsCheckpointedWhileTheStoreRuns() async throws {
        let keep = try TemporaryStore()
        let scenario = keep.scenario
        for _ in 0..<20 { _ = try await scenario.accept(scenario.send(to: .tag(Tag("t", .folded)))) }
        let path = keep.store.configuration.path
        let before = try FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber
        let checkpointer = try Checkpointer(path: path, interval: .zero, logger: keep.store.logger)
        await checkpointer.pass()
        let after = try FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber
        #expect(try #require(after).intValue > #require(before).intValue)
        checkpointer.stop()
    }

    /// A log that is long is emptied, however much is written meanwhile, and others write on afterwards.
    @Test func aLongLogIsCheckpointedAndRestarted() async throws {
        let keep = try TemporaryStore()
        let scenario = keep.scenario
        let path = keep.store.configuration.path
        let checkpointer = try Checkpointer(path: path, interval: .seconds(3600), logger: keep.store.logger)
        await checkpointer.pass()
        let bytes = [UInt8](repeating: 7, count: 1 << 20)
        // 66 MB, which is more than the log may have.
        for _ in 0..<66 {
            _ = try await keep.store.put(StoredContent(owner: nil, mediaType: "a/b", bytes: bytes), app: .default)
        }
        let size = try LogFile(of: path).size
        #expect(size > 64 << 20)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for _ in 0..<50 { _ = try await scenario.accept(scenario.send(to: .tag(Tag("t", .folded)))) }
            }
            // As in a program: a pass that met somebody who reads the log is followed by another.
            for _ in 0..<5 { await checkpointer.pass() }
            try await group.waitForAll()
        }
        // It is written from its beginning, in a file that stays as large as it was: another 30 MB make it no longer.
        for _ in 0..<30 {
            _ = try await keep.store.put(StoredContent(owner: nil, mediaType: "a/b", bytes: bytes), app: .default)
        }
        #expect(try LogFile(of: path).size < size + 16 << 20)
        checkpointer.stop()
        _ = try await scenario.accept(scenario.send(to: .tag(Tag("t", .folded))))
    }

    /// Each try to restart a log that a reader needs makes writers wait: they are let go on between two of them.
    @Test func aLongLogOfASlowReaderIsLeftAlone() async throws {
        let keep = try TemporaryStore()
        let path = keep.store.configuration.path
        let reader = try DatabasePool(path: path).makeSnapshot()
        try await reader.read { _ = try Int.fetchOne($0, sql: "SELECT count(*) FROM job") }
        let bytes = [UInt8](repeating: 7, count: 1 << 20)
        func put(_ count: Int) async throws {
            for _ in 0..<count {
                _ = try await keep.store.put(StoredContent(owner: nil, mediaType: "a/b", bytes: bytes), app: .default)
            }
        }
        try await put(66)
        let log = LogRecorder()
        let checkpointer = try Checkpointer(path: path, interval: .zero, logger: log.logger(.debug))
        await checkpointer.pass()
        try await put(1)
        // Held by a writer, so that who wants it would fail.
        let writer = try FileLock(path: path + ".writer")
        #expect(writer.tryLock())
        await checkpointer.pass()
        writer.unlock()
        #expect(log.lines.map(\.message) == [])
        try reader.close()
        checkpointer.stop()
    }

    /// A log whose file is very large is cut, however little of it is in use: an import waits for that.
    @Test func aLargeLogFileIsTruncated() async throws {
        let keep = try TemporaryStore()
        let path = keep.store.configuration.path
        let bytes = [UInt8](repeating: 7, count: 1 << 20)
        func put() async throws {
            _ = try await keep.store.put(StoredContent(owner: nil, mediaType: "a/b", bytes: bytes), app: .default)
        }
        for _ in 0..<100 { try await put() }
        // Somebody else moves it, and whoever writes next begins it anew.
        let foreign = try DatabaseQueue(path: path)
        try await foreign.writeWithoutTransaction { _ = try $0.checkpoint(.restart) }
        try await put()
        #expect(try LogFile(of: path).size > 96 << 20)
        let checkpointer = try Checkpointer(path: path, interval: .zero, logger: keep.store.logger)
        await checkpointer.pass()
        #expect(try LogFile(of: path).size < 16 << 20)
        checkpointer.stop()
    }

    /// What a change holds goes with it, also where no other follows: an import's rows are many.
    @Test func aFinishedChangeIsReleased() async throws {
        final class Load: Sendable {}
        let keep = try TemporaryStore()
        weak var left: Load?
        try await {
            let load = Load()
            left = load
            try await keep.store.writer.write(.bulk) { _ in withExtendedLifetime(load) {} }
        }()
        // The writer's thread lets go of it a moment after its caller goes on.
        for _ in 0..<2000 where left != nil { try await Task.sleep(for: .milliseconds(5)) }
        #expect(left == nil)
    }

    /// An empty store there would be in the way of the move, and serve nothing of what was moved.
    @Test func noStoreIsMadeWhereAMoveHasNotEnded() throws {
        let keep = try TemporaryStore()
        var configuration = keep.store.configuration
        configuration.path = keep.folder.appendingPathComponent("moved.sqlite").path
        #expect(FileManager.default.createFile(atPath: configuration.path + ".moving", contents: nil))
        let error = #expect(throws: StoreError.self) {
            try SQLiteStore(configuration: configuration, source: keep.time)
        }
        #expect(error?.message.contains("run `pushline store move` again") == true)
        #expect(!FileManager.default.fileExists(atPath: configuration.path))
        try FileManager.default.removeItem(atPath: configuration.path + ".moving")
        _ = try SQLiteStore(configuration: configuration, source: keep.time)
    }
}
