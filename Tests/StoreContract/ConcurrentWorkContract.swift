import NIOConcurrencyHelpers
import PushModel
import Store
import Testing
import Undisturbed

/// Random steps of several processes at once, on the same jobs and messages: whoever comes first, all of it adds up and comes to its end.
@Suite(.everyStore, .undisturbed) struct ConcurrentWorkContract {
    private static let (workers, steps) = (4, 80)

    /// What all processes know of.
    private struct Known {
        var messages: [OutboxMessage] = []
        var jobs: [Job] = []
    }

    @Test(arguments: 1...3 as ClosedRange<UInt64>) func whatIsDoneAtOnceAddsUp(seed: UInt64) async throws {
        let window = InFlightWindow(devices: 60, messages: 12, jobMessages: 10)
        let fixture = try StoreFixtures.make(StoreOptions(maximumBacklog: 150, window: window))
        let stores = [fixture.store, try fixture.another()]
        let known = NIOLockedValueBox(Known())
        for app in try RandomWork(fixture.store, fixture.time, seed: seed).apps {
            try await fixture.store.apply(.app(app, AppSpec()))
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<Self.workers {
                let work = try RandomWork(
                    stores[worker % stores.count],
                    fixture.time,
                    seed: 100 * seed + UInt64(worker)
                )
                group.addTask { try await Self.run(work, known) }
            }
            try await group.waitForAll()
        }
        #expect(try await Scenario(fixture).auditFaults() == [])
        try await Scenario(fixture).endAllWork()
        let left = try await Scenario(fixture).leftovers()
        #expect(left.isEmpty, "\(left) at \(type(of: fixture))")
        #expect(try await fixture.faults() == [])
    }

    private static func run(_ work: RandomWork, _ known: NIOLockedValueBox<Known>) async throws {
        var work = work
        for number in 0..<self.steps {
            let said = try await work.step(number)
            #expect(!said.contains("refused: corrupt"), "step \(number)")
            let (messages, jobs) = (work.messages.suffix(4), work.jobs.suffix(4))
            let all = known.withLockedValue { known in
                known.messages = Array((known.messages + messages).suffix(40))
                known.jobs = Array((known.jobs + jobs).suffix(40))
                return known
            }
            (work.messages, work.jobs) = (all.messages, all.jobs)
        }
    }
}
