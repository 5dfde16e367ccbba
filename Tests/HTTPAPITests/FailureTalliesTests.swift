import NIOConcurrencyHelpers
import PushModel
import Testing
import Undisturbed

@testable import HTTPAPI

/// Why a send fails costs no more for many who ask than for one.
@Suite(.undisturbed) struct FailureTalliesTests {
    @Test func manyWhoAskAreOneLook() async throws {
        let looks = NIOLockedValueBox<[JobID]>([])
        let tallies = FailureTallies(lifetime: .seconds(600)) { id, _ in
            looks.withLockedValue { $0.append(id) }
            return nil
        }
        let (first, second) = (JobID.make(), JobID.make())
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                for id in [first, second] { group.addTask { _ = await tallies.found(id, app: .default) } }
            }
        }
        #expect(looks.withLockedValue { Set($0) == [first, second] && $0.count == 2 })
        // Another app's is another question.
        _ = await tallies.found(first, app: try AppID("shop"))
        #expect(looks.withLockedValue { $0.count } == 3)
        // Whoever asks for ids at random has no more kept than so many.
        for _ in 0..<FailureTallies.most { _ = await tallies.found(.make(), app: .default) }
        _ = await tallies.found(second, app: .default)
        #expect(looks.withLockedValue { $0.count { $0 == second } } == 2)
    }

    @Test func aFaultIsTold() async throws {
        let tallies = FailureTallies { _, _ in throw InvalidValue("is away") }
        guard case .failure = await tallies.found(.make(), app: .default) else {
            Issue.record("a fault was not told")
            return
        }
    }
}
