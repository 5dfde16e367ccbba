import Hub
import NIOConcurrencyHelpers
import PushModel
import Store

/// A store that writes down what a send worker asks of it, and answers as it was told to.
final class RecordingStore: FanOutStore, OutboxStore, PauseStore, SuspectStore {
    struct State {
        var epoch = 0
        var claims = 0
        var redeliveries = 0
        /// How many sends a message has; 0 = it is gone.
        var members = 1
        var isPaused = false
        /// Somebody else has claimed what this worker has.
        var isTakenOver = false
        /// What is read makes no sense.
        var isCorrupt = false
        var calls: [String] = []
        var suspects: Set<[UInt8]> = []
    }

    private let state = NIOLockedValueBox(State())

    var calls: [String] { self.state.withLockedValue { $0.calls } }

    func change(_ body: (inout State) -> Void) { self.state.withLockedValue(body) }

    @discardableResult
    func note(_ call: String) -> State {
        self.state.withLockedValue { state in
            state.calls.append(call)
            return state
        }
    }

    // MARK: What a send worker asks

    func claim(_ message: MessageID, peeking: Bool) async throws -> FanOutClaim? {
        if !peeking { self.change { ($0.epoch, $0.claims) = ($0.epoch + 1, $0.claims + 1) } }
        let state = self.note("\(peeking ? "peek" : "claim") \(message)")
        guard !state.isCorrupt else { throw StoreError(.corrupt, "test") }
        guard state.members > 0 else { return nil }
        let sends = try (0..<state.members).map { number in
            SmallSend(
                sequence: Int64(number + 1),
                id: .make(),
                request: SendRequest(audience: .tag(try Tag("news", .folded)), content: .message(.init(body: "b"))),
                accepted: .now,
                expires: .now.advanced(by: .seconds(600)),
                startsAt: nil,
                waiter: nil,
                audience: .all([]),
                through: 0
            )
        }
        let row = OutboxMessage(id: message, app: .default, queue: .send, priority: .normal, epoch: state.epoch)
        return FanOutClaim(message: row, claims: state.claims, isClaimed: !peeking, work: .group(sends, credit: [:]))
    }

    func extend(_ claim: FanOutClaim) async throws -> Bool { true }

    func work(of claim: FanOutClaim) async throws -> FanOutWork? { nil }

    func commit(_ step: FanOutStep, of claim: FanOutClaim) async throws -> FanOutResult {
        guard case .abandon = step else { throw NotAsked() }
        let isOnly = self.note("abandon \(claim.message.id)").members == 1
        return isOnly ? .written(FanOutWritten(isDone: true, waiter: "waiter")) : .lost
    }

    func `defer`(_ message: MessageID, epoch: Int?, _ deferral: Deferral) async throws -> Bool {
        let fence = epoch.map { "@\($0)" } ?? ""
        let services = deferral.blockedOn.map(\.rawValue).sorted().joined(separator: " ")
        let pause = deferral.pause > .zero ? "\(deferral.pause)" : nil
        let state = self.note("defer \(message)\(fence) " + (deferral.reason?.text ?? pause ?? services))
        return epoch == nil || !state.isTakenOver
    }

    func redelivered(_ message: MessageID) async throws -> (count: Int, members: Int)? {
        self.change { $0.redeliveries += 1 }
        let state = self.note("redelivered \(message)")
        return state.members > 0 ? (state.redeliveries, state.members) : nil
    }

    func suspect(_ fingerprint: [UInt8]) async throws -> Bool {
        self.state.withLockedValue { !$0.suspects.insert(fingerprint).inserted }
    }

    func clear(suspect fingerprint: [UInt8]) async throws { self.change { $0.suspects.remove(fingerprint) } }

    func split(_ message: MessageID) async throws { self.note("split \(message)") }

    func pauses() async throws -> [Pause] {
        guard self.state.withLockedValue({ $0.isPaused }) else { return [] }
        return [Pause(queue: .send, app: nil, by: "test", since: .now)]
    }

    // MARK: What it does not ask

    private struct NotAsked: Error {}

    func credit(for kind: CreditKind, app: AppID, pns: PushService, priority: Priority) async throws -> Credit {
        throw NotAsked()
    }

    func batches(of message: MessageID) async throws -> [DueBatch] { throw NotAsked() }

    func audience(_ query: AudienceQuery) async throws -> AudiencePage { throw NotAsked() }

    func count(_ query: AudienceQuery) async throws -> AudienceCount { throw NotAsked() }

    func accept(_ jobs: [NewJob], joining _: MessageID?) async throws -> AcceptedJobs { throw NotAsked() }

    func markPublished(_ messages: [OutboxMessage]) async throws { throw NotAsked() }

    func takeDue(_ queues: Set<WorkQueue>, overdue: Duration, limit: Int) async throws -> [OutboxMessage] {
        throw NotAsked()
    }
}

/// A fan-out that gives one answer after the other, the last one for ever.
struct ScriptedFanOut: SendFanOut {
    enum Answer: Sendable {
        case done
        /// Nothing was committed, for APNs takes nothing.
        case blocked
        case refused
        case unavailable
        /// Somebody else has claimed the message, which is found out after a while.
        case lost
    }

    private let store: RecordingStore
    private let answers: NIOLockedValueBox<[Answer]>

    init(store: RecordingStore, answers: [Answer]) {
        self.store = store
        self.answers = NIOLockedValueBox(answers)
    }

    func advance(_ claim: FanOutClaim, spec: AppSpec, budget: Duration) async throws -> Advance {
        let call = "advance \(claim.message.id)@\(claim.message.epoch)"
        // A send worker that waits asks again and again.
        if self.store.calls.last != call { self.store.note(call) }
        let answer = self.answers.withLockedValue { $0.count > 1 ? $0.removeFirst() : $0.first }
        switch answer {
        case .done, nil:
            let answered = Advance.Answered(job: .make(), waiter: "waiter")
            return Advance(.done, answered: [answered], hasCommitted: true)
        case .blocked: return Advance(.blocked(claim, on: [.apns], after: .milliseconds(20)))
        case .refused: throw HubError(.refused, "test")
        case .unavailable: throw HubError(.unavailable(), "test")
        case .lost:
            try await Task.sleep(for: .milliseconds(100))
            return Advance(.lost)
        }
    }

    func resume(_ messages: [OutboxMessage], specs: [AppID: AppSpec]) async throws {}

    func run() async {}
}

/// Every app is declared.
struct DeclaredApps: AppStore {
    func apps(_ name: AppID?) async throws -> [AppID: AppSpec] { name.map { [$0: AppSpec()] } ?? [:] }
}
