import Foundation
import GRDB
import NIOConcurrencyHelpers
import Store
import StoreContract
import StoreKit
import Testing
import Undisturbed

@testable import StoreSQLite

/// Reads go on whatever happens to those beside them.
@Suite(.serialized, .undisturbed) struct ReadQueueTests {
    private struct Fault: Error {}

    @Test func aCancelledReadReturnsAtOnceAndOthersAreServed() async throws {
        let keep = try TemporaryStore()
        let gate = DispatchSemaphore(value: 0)
        let begun = NIOLockedValueBox(0)
        // All connections are held up.
        let slow = (0..<3).map { _ in
            Task {
                try await keep.store.read { _ in
                    begun.withLockedValue { $0 += 1 }
                    gate.wait()
                }
            }
        }
        while begun.withLockedValue({ $0 }) < 3 { try await Task.sleep(for: .milliseconds(5)) }
        let isRead = NIOLockedValueBox(false)
        let waiting = Task { try await keep.store.read { _ in isRead.withLockedValue { $0 = true } } }
        let other = Task { try await keep.store.read { try $0.exists("SELECT 1 FROM clock") } }
        waiting.cancel()
        slow[0].cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        await #expect(throws: CancellationError.self) { try await slow[0].value }
        for _ in slow { gate.signal() }
        #expect(try await other.value)
        for task in slow.dropFirst() { try await task.value }
        #expect(!isRead.withLockedValue { $0 })
    }

    /// One connection is everybody else's, however many audiences are read.
    @Test func longReadsLeaveAConnectionToOthers() async throws {
        let keep = try TemporaryStore()
        let gate = DispatchSemaphore(value: 0)
        let begun = NIOLockedValueBox(0)
        let long = (0..<6).map { _ in
            Task {
                try await keep.store.read(size: .long) { _ in
                    begun.withLockedValue { $0 += 1 }
                    gate.wait()
                }
            }
        }
        while begun.withLockedValue({ $0 }) < 2 { try await Task.sleep(for: .milliseconds(5)) }
        for size in [ReadSize.short, .ordinary, .ordinary] {
            #expect(try await keep.store.read(size: size) { try $0.exists("SELECT 1 FROM clock") })
        }
        #expect(begun.withLockedValue { $0 } == 2)
        for _ in long { gate.signal() }
        for task in long { try await task.value }
        #expect(begun.withLockedValue { $0 } == 6)
    }

    @Test func aFailedReadLeavesItsConnectionUsable() async throws {
        let keep = try TemporaryStore()
        for _ in 0..<10 {
            await #expect(throws: Fault.self) {
                try await keep.store.read { database in
                    _ = try database.exists("SELECT 1 FROM clock")
                    throw Fault()
                }
            }
            await #expect(throws: StoreError.self) {
                try await keep.store.read { try $0.exists("SELECT 1 FROM nothing") }
            }
            #expect(try await keep.store.read { try $0.exists("SELECT 1 FROM clock") })
        }
    }

    @Test func aReadSeesOneSnapshot() async throws {
        let keep = try TemporaryStore()
        let store = keep.store
        let counts = try await store.read { database -> [Int] in
            func count() throws -> Int { try database.first("SELECT count(*) FROM app") { $0[0] as Int } ?? -1 }
            let before = try count()
            // Committed while this read goes on.
            let isWritten = DispatchSemaphore(value: 0)
            Task {
                try await store.write { try $0.database.run("INSERT INTO app(name) VALUES ('new')") }
                isWritten.signal()
            }
            isWritten.wait()
            return [before, try count()]
        }
        #expect(counts[0] == counts[1])
        #expect(try await store.read { try $0.first("SELECT count(*) FROM app") { $0[0] as Int } } == counts[0] + 1)
    }
}
