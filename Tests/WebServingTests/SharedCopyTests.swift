import NIOConcurrencyHelpers
import Testing
import Undisturbed

@testable import WebServing

/// What anybody may ask for costs no more for many than for one.
@Suite(.undisturbed) struct SharedCopyTests {
    @Test func concurrentReadersShareOneCopy() async throws {
        let made = NIOLockedValueBox(0)
        let (gate, open) = AsyncStream<Void>.makeStream()
        let copy = SharedCopy(lifetime: .seconds(600)) {
            for await _ in gate { break }
            return made.withLockedValue { made in
                made += 1
                return made
            }
        }
        let answers = await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<200 { group.addTask { await copy.value() } }
            var answers: [Int?] = []
            // Those who are too many are answered before it is there.
            for _ in 0..<200 - SharedCopy<Int>.maximumWaiting {
                if let answer = await group.next() { answers.append(answer) }
            }
            open.finish()
            for await answer in group { answers.append(answer) }
            return answers
        }
        #expect(answers.count { $0 == nil } == 200 - SharedCopy<Int>.maximumWaiting)
        #expect(answers.count { $0 == 1 } == SharedCopy<Int>.maximumWaiting)
        #expect(await copy.value() == 1)
        #expect(made.withLockedValue { $0 } == 1)
    }

    @Test func anExpiredCopyIsReplaced() async throws {
        let made = NIOLockedValueBox(0)
        let copy = SharedCopy(lifetime: .milliseconds(1)) {
            made.withLockedValue { made in
                made += 1
                return made
            }
        }
        #expect(await copy.value() == 1)
        try await Task.sleep(for: .milliseconds(20))
        #expect(await copy.value() == 2)
    }
}
