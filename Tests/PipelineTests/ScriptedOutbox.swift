import NIOConcurrencyHelpers
import PushModel
import Store

/// A store that says of delivery messages what a test wants, and remembers what it was told.
final class ScriptedOutbox: OutboxStore, OutcomeSink, PauseStore, SuspectStore, AppStore {
    struct State {
        var spec = AppSpec()
        /// The open batches of each message.
        var open: [MessageID: [BatchKey]] = [:]
        /// Each batch of whatever message is open.
        var isEverythingOpen = false
        var redeliveries: [MessageID: Int] = [:]
        /// Batches whose outcomes make no sense, in whatever company.
        var unrecordable: Set<BatchKey> = []
        /// Messages that cannot be split.
        var isSplitRefused = false
        var pauses: [Pause] = []
        /// Batches of jobs that are being stopped.
        var stopping: [BatchKey: StopCause] = [:]
        /// How many times marks are not taken.
        var marksToRefuse = 0

        var suspects: Set<[UInt8]> = []
        var outcomes: [BatchOutcome] = []
        var splits: [MessageID] = []
        var deferrals: [MessageID: Deferral] = [:]
        /// What was marked together.
        var marks: [[MessageID]] = []
        /// What comes before a deferral is answered.
        var afterDeferral: @Sendable () async -> Void = {}
    }

    private let state = NIOLockedValueBox(State())

    func with<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        try self.state.withLockedValue(body)
    }

    func status(of batches: [BatchKey], in message: MessageID?) async throws -> [LocatedStatus] {
        self.with { state in
            batches.map { key in
                if state.isEverythingOpen {
                    return LocatedStatus(.open, hint: message.map { RowHint(job: 1, message: $0) })
                }
                let places = state.open.filter { message == nil || $0.key == message }
                guard let place = places.first(where: { $0.value.contains(key) }) else { return LocatedStatus(.closed) }
                let status = state.stopping[key].map { BatchStatus.stopping($0) } ?? .open
                return LocatedStatus(status, hint: RowHint(job: 1, message: place.key))
            }
        }
    }

    func record(_ outcomes: [BatchOutcome]) async throws -> [Bool] {
        try self.with { state in
            guard outcomes.allSatisfy({ !state.unrecordable.contains($0.key) }) else {
                throw StoreError(.corrupt, "a row makes no sense")
            }
            return outcomes.map { outcome in
                let isOpen = state.open.values.joined().contains(outcome.key)
                for id in state.open.keys { state.open[id]?.removeAll { $0 == outcome.key } }
                if isOpen || state.isEverythingOpen { state.outcomes.append(outcome) }
                return isOpen || state.isEverythingOpen
            }
        }
    }

    func redelivered(_ message: MessageID) async throws -> (count: Int, members: Int)? {
        self.with { state in
            guard let open = state.open[message], !open.isEmpty else { return nil }
            state.redeliveries[message, default: 0] += 1
            return (state.redeliveries[message, default: 0], open.count)
        }
    }

    func suspect(_ fingerprint: [UInt8]) async throws -> Bool {
        self.with { !$0.suspects.insert(fingerprint).inserted }
    }

    func clear(suspect fingerprint: [UInt8]) async throws { self.with { _ = $0.suspects.remove(fingerprint) } }

    /// The members' own messages have the next hundred's numbers.
    func split(_ message: MessageID) async throws {
        try self.with { state in
            if state.isSplitRefused { throw StoreError(.corrupt, "a row makes no sense") }
            for (index, key) in (state.open.removeValue(forKey: message) ?? []).enumerated() {
                state.open[MessageID(number: message.number + 100 + Int64(index))] = [key]
            }
            state.splits.append(message)
        }
    }

    func `defer`(_ message: MessageID, epoch: Int?, _ deferral: Deferral) async throws -> Bool {
        let next = self.with { state in
            state.deferrals[message] = deferral
            return state.afterDeferral
        }
        await next()
        return true
    }

    func markPublished(_ messages: [OutboxMessage]) async throws {
        try self.with { state in
            state.marksToRefuse -= 1
            guard state.marksToRefuse < 0 else { throw StoreError(.unavailable, "test") }
            state.marks.append(messages.map(\.id))
        }
    }

    func users(ofLive rows: [Int64]) async throws -> [UserName?] { rows.map { _ in nil } }

    func pauses() async throws -> [Pause] { self.with { $0.pauses } }

    func apps(_ name: AppID?) async throws -> [AppID: AppSpec] {
        self.with { state in name.map { [$0: state.spec] } ?? [:] }
    }

    // Nothing that a delivery worker asks for.
    func accept(_ jobs: [NewJob], joining _: MessageID?) async throws -> AcceptedJobs { AcceptedJobs() }
    func takeDue(_ queues: Set<WorkQueue>, overdue: Duration, limit: Int) async throws -> [OutboxMessage] { [] }
}
