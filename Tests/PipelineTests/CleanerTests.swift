import Pipeline
import Store
import Testing

/// How fast is removed what is kept no longer.
struct CleanerTests {
    /// Has so many rows of each kind, and keeps what it was asked.
    private actor Rows: HousekeepingStore {
        struct Question: Equatable {
            let kind: Retained
            let age: Duration
            let cursor: Int64
        }

        var left: [Retained: Int]
        var questions: [Question] = []

        init(_ left: [Retained: Int]) { self.left = left }

        func lead(as role: LeaderRole) async throws -> (any Leadership)? { nil }

        func isSweepLate(by lateness: Duration) async throws -> Bool { false }

        func perform(_ chore: Chore, limit: Int) async throws -> ChoreChunk {
            guard case .remove(let kind, let age, let cursor) = chore else { return ChoreChunk(rows: 0) }
            self.questions.append(Question(kind: kind, age: age, cursor: cursor))
            let removed = min(limit, self.left[kind] ?? 0)
            self.left[kind, default: 0] -= removed
            return ChoreChunk(rows: removed, next: removed == limit ? cursor + Int64(removed) : nil)
        }
    }

    @Test func aPassRemovesOneChunkOfEachKindAndThenRests() async throws {
        let store = Rows([.devices: 25, .jobs: 5, .contents: 100])
        var cleaner = Cleaner(store: store, ages: [.devices: .seconds(3), .jobs: .seconds(7)], limit: 10)
        var removed: [Int] = []
        for _ in 0..<5 { removed.append(try await cleaner.pass()) }
        #expect(removed == [15, 10, 5, 0, 0])
        // What has no age is kept, a chunk begins where the one before ended, and an idle interval is one.
        #expect(
            await store.questions == [
                .init(kind: .devices, age: .seconds(3), cursor: 0), .init(kind: .jobs, age: .seconds(7), cursor: 0),
                .init(kind: .devices, age: .seconds(3), cursor: 10),
                .init(kind: .devices, age: .seconds(3), cursor: 20),
            ]
        )
        #expect(await store.left[.contents] == 100)
    }

    @Test func passesFollowEachOtherWhileRowsAreLeft() async throws {
        var cleaner = Cleaner(store: Rows([.jobs: 15]), ages: [.jobs: .seconds(7)], limit: 10)
        let start = ContinuousClock.now
        #expect(try await cleaner.pass() == 10)
        let middle = ContinuousClock.now
        #expect(cleaner.nextPass <= start + (middle - start) * 5)
        #expect(try await cleaner.pass() == 5)
        #expect(cleaner.nextPass >= middle + .seconds(1))
    }
}
