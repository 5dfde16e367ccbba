import Broker
import Callers
import Logging
import NIOConcurrencyHelpers
import NIOCore
import PushModel
import Testing
import Undisturbed

@testable import Intake

/// What watchers of jobs cost, and what they are told when something fails.
@Suite(.timeLimit(.minutes(5)), .undisturbed) struct JobWatchersTests {
    /// A store of one job.
    private final class Reads: Sendable {
        struct State {
            var count = 0
            var failures = 0
            /// nil = it has been removed.
            var accepted: Int? = 0
            var isFinal = false
        }

        let state: NIOLockedValueBox<State>

        init(_ state: State = State()) { self.state = NIOLockedValueBox(state) }

        func read(_ ids: [JobID]) throws -> [Job] {
            let state = try self.state.withLockedValue { state in
                state.count += 1
                state.failures -= 1
                guard state.failures < 0 else { throw InvalidValue("the store cannot be read") }
                return state
            }
            return try ids.compactMap { id in
                try state.accepted.map { try JobWatchersTests.job(id, accepted: $0, isFinal: state.isFinal) }
            }
        }
    }

    private static let id = JobID(high: 7 << 12, low: 1 << 63)

    private static func job(_ id: JobID, accepted: Int, isFinal: Bool = false) throws -> Job {
        var counts = DeliveryCounts()
        (counts.targets, counts.accepted) = (accepted, accepted)
        return Job(
            id: id,
            sequence: 1,
            app: .default,
            user: try UserName("alice", .folded),
            key: nil,
            priority: .normal,
            work: .send(SendRequest(audience: .tag(try Tag("a", .folded)), content: .message(.init(body: "x")))),
            state: isFinal ? .completed : .retrying,
            result: nil,
            reason: nil,
            accepted: Timestamp(milliseconds: 0),
            started: nil,
            finished: nil,
            expires: Timestamp(milliseconds: 1),
            due: nil,
            counts: [.apns: counts]
        )
    }

    /// Finds out again who watches.
    private typealias Admit = @Sendable () async throws -> Caller?

    private static func watcher(
        form: String = "short",
        admit: @escaping Admit = { .user("alice") }
    ) -> JobWatcher {
        JobWatcher(of: Self.id, form: form, caller: .user("alice"), admission: .init(["alice"], again: admit))
    }

    /// A job as a watcher sees it: form, state, and how many devices have it.
    private static func event(_ snapshot: JobMonitor.Snapshot, _ form: String) -> ByteBuffer {
        let job = snapshot.job
        return ByteBuffer(string: "\(form) \(job.state.rawValue) \(job.counts[.apns]?.accepted ?? 0)")
    }

    /// Runs watchers beside the body, with their looks as fast as the machine can.
    private static func with(
        _ reads: Reads,
        pace: JobWatchers.Pace = JobWatchers.Pace(
            look: .milliseconds(5),
            crowdedLook: .milliseconds(20),
            admission: .milliseconds(5),
            heartbeat: .milliseconds(5)
        ),
        _ body: (JobWatchers) async throws -> Void
    ) async throws {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let monitor = JobMonitor(broker: InMemoryBroker()) { try reads.read($0) }
        let watchers = JobWatchers(monitor: monitor, pace: pace, logger: logger, show: Self.event)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await watchers.run() }
            try await body(watchers)
            group.cancelAll()
        }
    }

    /// Watches to the end.
    ///
    /// - Parameters:
    ///   - watcher: The watcher.
    ///   - watchers: Whom it asks.
    ///   - seen: Given the words of each event, and nil for a sign of life.
    /// - Throws: What `seen` throws.
    private static func watch(
        _ watcher: JobWatcher,
        _ watchers: JobWatchers,
        seen: ([String]?) throws -> Void = { _ in }
    ) async throws {
        watchers.enter(watcher, seen: JobMonitor.Snapshot(job: try Self.job(Self.id, accepted: 0)))
        defer { watchers.leave(watcher) }
        try await watcher.write { event in
            try seen(event.map { String(buffer: $0).split(separator: " ").map(String.init) })
        }
    }

    @Test func aThousandWatchersCostNoMoreThanOne() async throws {
        let reads = Reads()
        let start = ContinuousClock.now
        try await Self.with(reads) { watchers in
            try await withThrowingTaskGroup(of: [String].self) { group in
                for number in 0..<1000 {
                    let watcher = Self.watcher(form: number.isMultiple(of: 2) ? "short" : "long")
                    group.addTask {
                        var states: [String] = []
                        try await Self.watch(watcher, watchers) { event in
                            if let event {
                                states.append(event[1])
                                #expect(event[0] == watcher.form)
                            }
                        }
                        return states
                    }
                }
                // Once all are there, the end.
                while reads.state.withLockedValue({ $0.count }) < 5 { await Task.yield() }
                reads.state.withLockedValue { $0.isFinal = true }
                for try await states in group {
                    #expect(states.last == "completed" && states.count <= 2, "\(states)")
                }
            }
        }
        // The few that were first are looked at more often.
        let most = (ContinuousClock.now - start) / .milliseconds(5) + 2
        #expect(Double(reads.state.withLockedValue { $0.count }) <= most)
    }

    @Test func nothingNewIsReadLessOftenAndNotTold() async throws {
        let reads = Reads()
        var pace = JobWatchers.Pace()
        (pace.look, pace.heartbeat) = (.milliseconds(20), .milliseconds(1))
        let start = ContinuousClock.now
        try await Self.with(reads, pace: pace) { watchers in
            let watcher = Self.watcher()
            var (events, heartbeats) = (0, 0)
            try await Self.watch(watcher, watchers) { event in
                if event == nil { heartbeats += 1 } else { events += 1 }
                if reads.state.withLockedValue({ $0.count }) >= 5 { watcher.end() }
            }
            #expect(events == 1 && heartbeats > 0)
        }
        // The pauses: 20, 40, 80, 80 ms and so on.
        let most = (ContinuousClock.now - start) / .milliseconds(80) + 4
        #expect(Double(reads.state.withLockedValue { $0.count }) <= most)
    }

    /// Who does not read holds one state, and then reads the newest.
    @Test func aSlowReaderIsToldTheNewestAlone() async throws {
        let watcher = Self.watcher()
        var seen: [String] = []
        watcher.tell(ByteBuffer(string: "0"))
        await watcher.write { event in
            if let event { seen.append(String(buffer: event)) }
            if seen == ["0"] {
                // It is still writing the first.
                for number in 1...1000 {
                    watcher.tell(ByteBuffer(string: "\(number)"))
                    watcher.beat()
                }
            } else {
                watcher.end()
            }
        }
        #expect(seen == ["0", "1000"])
    }

    @Test func aStoreThatCannotBeReadEndsNothing() async throws {
        let reads = Reads(Reads.State(failures: 20))
        let admissions = NIOLockedValueBox(0)
        let admit: Admit = {
            admissions.withLockedValue { $0 += 1 }
            throw InvalidValue("the store cannot be read")
        }
        try await Self.with(reads) { watchers in
            let watcher = Self.watcher(admit: admit)
            var accepted: [String] = []
            try await Self.watch(watcher, watchers) { event in
                if let event { accepted.append(event[2]) }
                let count = reads.state.withLockedValue { state in
                    if state.count > 20 { state.accepted = 7 }
                    return state.count
                }
                guard count > 20, accepted.count == 2, admissions.withLockedValue({ $0 }) > 5 else { return }
                watcher.end()
            }
            #expect(accepted == ["0", "7"])
        }
    }

    @Test func whoIsRefusedByNowIsToldNothingMore() async throws {
        try await Self.with(Reads()) { watchers in
            try await Self.watch(Self.watcher(admit: { nil }), watchers)
        }
    }

    @Test func aRemovedJobEndsTheEvents() async throws {
        try await Self.with(Reads(Reads.State(accepted: nil))) { watchers in
            try await Self.watch(Self.watcher(), watchers)
        }
    }

    @Test func somebodyElseByNowIsToldNothingMore() async throws {
        try await Self.with(Reads()) { watchers in
            try await Self.watch(Self.watcher(admit: { .user("bob") }), watchers)
        }
    }
}
