import Foundation
import GRDB
import StoreContract
import StoreKit
import Testing
import Undisturbed

@testable import StoreSQLite

/// Short work is done on its caller's thread while that holds nobody up.
@Suite(.undisturbed) struct InlineExecutionTests {
    @Test func slowWorkClosesInlineExecutionForAWhile() async throws {
        let inlineExecution = InlineExecution()
        #expect(inlineExecution.run { 1 } == 1)
        #expect(inlineExecution.run { usleep(5000) } != nil)
        #expect(inlineExecution.run { 1 } == nil)
        try await Task.sleep(for: .milliseconds(1100))
        #expect(inlineExecution.run { 1 } == 1)
    }

    @Test func slowFailingWorkClosesInlineExecution() {
        let inlineExecution = InlineExecution()
        struct Late: Error {}
        #expect(throws: Late.self) {
            try inlineExecution.run {
                usleep(5000)
                throw Late()
            }
        }
        #expect(inlineExecution.run { 1 } == nil)
    }

    /// However long the disk takes, no more than one of the threads that all tasks share waits for it.
    @Test func onlyOneCallerExecutesInline() {
        let inlineExecution = InlineExecution()
        let inner = inlineExecution.run { inlineExecution.run { 1 } == nil }
        #expect(inner == true)
        #expect(inlineExecution.run { 1 } == 1)
    }

    /// Whoever holds the lock keeps a short change from its caller's thread, not from being done.
    @Test func aShortChangeWaitsForAnotherWriterOffTheCallersThread() async throws {
        let keep = try TemporaryStore()
        let path = keep.store.configuration.path
        let other = try FileLock(path: path + ".writer")
        #expect(other.tryLock())
        async let change: Void = keep.store.write(.short) { try $0.database.run("UPDATE clock SET seen = seen") }
        // The caller's own thread goes on meanwhile: this is it, where there is one alone.
        try await Task.sleep(for: .milliseconds(50))
        other.unlock()
        try await change
    }

    @Test func manyConcurrentShortChangesAndReadsComplete() async throws {
        let keep = try TemporaryStore()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<500 {
                group.addTask {
                    try await keep.store.write(number % 3 == 0 ? .ordinary : .short) {
                        try $0.database.run("INSERT INTO app(name) VALUES (?)", ["app\(number)"])
                    }
                    let isThere = try await keep.store.read(size: number % 2 == 0 ? .short : .ordinary) {
                        try $0.exists("SELECT 1 FROM app WHERE name = ?", ["app\(number)"])
                    }
                    #expect(isThere)
                }
            }
            try await group.waitForAll()
        }
        #expect(try await keep.store.read { try $0.first("SELECT count(*) FROM app") { $0[0] as Int } } == 500)
    }
}
