import PushModel
import Store
import StoreKit
import Testing

/// Which due messages are taken, and in whose turn (rule 12).
@Suite struct DueMessagesTests {
    /// What is due, in memory.
    private struct Source: DueSource {
        /// The sizes of what is due, by group.
        var due: [DueGroup: [Int]] = [:]
        var paused: Set<WorkQueue> = []
        var service = ServiceLoad()
        var jobs = 0

        func groups(of priority: Priority) -> [DueGroup] { self.due.keys.filter { $0.priority == priority }.sorted() }

        func hasDue(_ group: DueGroup, before: Int64) -> Bool { self.due[group]?.isEmpty == false && before >= 0 }

        func rows(of group: DueGroup, before: Int64, limit: Int, offset: Int) throws -> [(
            message: OutboxMessage, size: Int
        )] {
            let queue = try WorkQueue(number: group.queue)
            let sizes = self.due[group] ?? []
            return try sizes.indices.dropFirst(offset).prefix(limit).map { index in
                let id = MessageID(number: group.app * 10_000 + Int64(index))
                let app = try AppID("app\(group.app)")
                return (OutboxMessage(id: id, app: app, queue: queue, priority: group.priority), sizes[index])
            }
        }

        func isPaused(_ queue: WorkQueue, app: Int64) -> Bool { self.paused.contains(queue) }
        func load(of app: Int64, at pns: PushService, _ priority: Priority) -> ServiceLoad { self.service }

        func jobsInFlight(of app: Int64, in queue: WorkQueue, _ priority: Priority, most: Int) -> Int {
            min(self.jobs, most)
        }
    }

    private let roundRobin = RoundRobin()

    private func group(
        app: Int64 = 1,
        _ queue: WorkQueue = .send,
        _ priority: Priority = .normal,
        _ state: MessageState = .published,
        blockedOn: Int = 0
    ) -> DueGroup {
        DueGroup(priority: priority, app: app, queue: queue.number, state: state.rawValue, blockedOn: blockedOn)
    }

    private func find(
        _ limit: Int,
        in source: Source,
        overdue: Duration = .zero,
        window: InFlightWindow = InFlightWindow()
    ) throws -> [DueMessage] {
        let finder = DueMessages(
            flow: FlowControl(now: 0, window: window),
            roundRobin: self.roundRobin,
            queues: Set(WorkQueue.allCases),
            overdue: overdue
        )
        return try finder.find(limit: limit, in: source)
    }

    @Test func appsShareWhatIsTakenAndUnusedPartsGoToOthers() throws {
        var source = Source()
        source.due[self.group(app: 1)] = Array(repeating: 0, count: 20)
        source.due[self.group(app: 2)] = [0]
        source.due[self.group(app: 3)] = Array(repeating: 0, count: 20)
        let taken = Dictionary(grouping: try self.find(9, in: source), by: \.app).mapValues(\.count)
        #expect(taken == [1: 4, 2: 1, 3: 4])
        #expect(Set(try self.find(9, in: source).map(\.message.id)).count == 9)
    }

    @Test func withALimitOfOneEachHasItsTurn() throws {
        var source = Source()
        for app in Int64(1)...3 { source.due[self.group(app: app)] = [0, 0] }
        let turns = try (0..<4).flatMap { _ in try self.find(1, in: source).map(\.app) }
        #expect(turns == [1, 2, 3, 1])
    }

    @Test func aQuarterIsLeftForLessUrgentOnes() throws {
        var source = Source()
        source.due[self.group(app: 1, .send, .high)] = Array(repeating: 0, count: 20)
        #expect(try self.find(8, in: source).count == 8)
        source.due[self.group(app: 2)] = Array(repeating: 0, count: 20)
        #expect(
            try self.find(8, in: source).map(\.message.priority) == Array(repeating: .high, count: 6) + [
                .normal, .normal,
            ]
        )
    }

    @Test func ofAPausedQueueNothingIsTaken() throws {
        var source = Source(paused: [.send])
        source.due[self.group()] = [0]
        source.due[self.group(.register)] = [0]
        #expect(try self.find(8, in: source).map(\.message.queue) == [.register])
    }

    /// What its own process publishes is left to it for a moment; what was deferred is not.
    @Test func onlyJobsThatWereNotDeferredMustBeOverdue() throws {
        var source = Source()
        for state in [MessageState.ready, .published, .deferred] { source.due[self.group(.send, .normal, state)] = [0] }
        source.due[self.group(.deliver(.apns), .normal, .published)] = [5]
        let taken = try self.find(8, in: source, overdue: .seconds(1))
        #expect(taken.map(\.state) == [.deferred, .published])
        #expect(taken.map(\.message.queue) == [.send, .deliver(.apns)])
    }

    @Test func deferredJobsAreTakenAsTheWindowHasRoom() throws {
        var source = Source(jobs: 5)
        source.due[self.group(.send, .normal, .deferred)] = Array(repeating: 0, count: 20)
        #expect(try self.find(20, in: source, window: InFlightWindow(jobMessages: 8)).count == 3)
        source.jobs = 8
        #expect(try self.find(20, in: source, window: InFlightWindow(jobMessages: 8)).isEmpty)
    }

    /// Retries count devices; the last may go beyond.
    @Test func retriesAreTakenAsThereIsCredit() throws {
        var source = Source(service: ServiceLoad(devices: 7000))
        source.due[self.group(.deliver(.apns), .normal, .ready)] = [400, 400, 400, 400]
        let window = InFlightWindow(devices: 4000)
        #expect(try self.find(20, in: source, window: window).map(\.size) == [400, 400, 400])
        source.service = ServiceLoad(devices: 8000)
        #expect(try self.find(20, in: source, window: window).isEmpty)
    }

    @Test func whoWaitsForCreditIsWokenAsFarAsThereIsSome() throws {
        let apns = BlockedOn(Deferral(blockedOn: [.apns])).bits
        let continued = BlockedOn(Deferral(blockedOn: [.apns], isContinued: true)).bits
        var source = Source()
        source.due[self.group(.send, .normal, .deferred, blockedOn: apns)] = Array(repeating: 0, count: 600)
        // Small sends take little, and each may find the credit gone.
        #expect(try self.find(600, in: source, window: InFlightWindow(jobMessages: 1000)).count == 256)
        source.due = [self.group(.send, .normal, .deferred, blockedOn: continued): Array(repeating: 0, count: 9)]
        // A campaign takes a batch at a time.
        let window = InFlightWindow(devices: 3000, jobMessages: 1000)
        #expect(try self.find(600, in: source, window: window).count == 3)
        source.service = ServiceLoad(devices: 3000)
        #expect(try self.find(600, in: source, window: window).isEmpty)
    }
}
