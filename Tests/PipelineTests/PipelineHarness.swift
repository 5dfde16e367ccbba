import Broker
import Foundation
import Hub
import Logging
import NIOConcurrencyHelpers
import PushModel
import PushServices
import PushlineSimulator
import PushlineTracing
import Store
import StoreSQLite
import Testing

@testable import Pipeline

/// The whole pipeline in one process: a store in a temporary folder, a broker in memory, simulated push services over TLS.
struct PipelineHarness: Sendable {
    let store: any ResultStore
    let broker: InMemoryBroker
    let simulator: Simulator
    let apps: AppDirectory
    let fanOut: EmbeddedFanOut
    let wireHub = ScriptedWireHub()
    let sweeper: Sweeper
    let traces: Traces
    let logger: Logger
    /// Stands for the register jobs' sequence.
    private let sequence = NIOLockedValueBox<Int64>(0)
    /// The messages of jobs that were accepted each for itself.
    private let messages = NIOLockedValueBox<[JobID: OutboxMessage]>([:])
    /// Those of them that the sweeper publishes.
    private let deferred = NIOLockedValueBox<Set<MessageID>>([])

    /// Which workers run.
    struct Workers: OptionSet {
        let rawValue: Int
        static let register = Workers(rawValue: 1)
        static let send = Workers(rawValue: 2)
        static let delivery = Workers(rawValue: 4)
        static let sweeper = Workers(rawValue: 8)
        static let dead = Workers(rawValue: 16)
        static let all: Workers = [.register, .send, .delivery, .sweeper, .dead]
    }

    /// Runs `body` beside the workers, and ends them with it.
    static func with(
        _ workers: Workers = .all,
        window: InFlightWindow = InFlightWindow(),
        traces: Traces = .off,
        logger: Logger = Logger(label: "harness") { _ in SwiftLogNoOpLogHandler() },
        _ body: @Sendable @escaping (PipelineHarness) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pushline-harness-\(UUID().uuidString)")
            .path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await withSimulator { simulator in
            let harness = try await PipelineHarness(
                folder: folder,
                simulator: simulator,
                window: window,
                traces: traces,
                logger: logger
            )
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await harness.fanOut.run() }
                defer { group.cancelAll() }
                try await harness.run(workers) { try await body(harness) }
            }
        }
    }

    private init(
        folder: String,
        simulator: Simulator,
        window: InFlightWindow,
        traces: Traces,
        logger: Logger
    ) async throws {
        self.traces = traces
        self.logger = logger
        self.simulator = simulator
        var configuration = SQLiteStore.Configuration(path: folder + "/store.sqlite")
        configuration.window = window
        self.store = try await SQLiteStore.open(configuration)
        self.broker = InMemoryBroker()
        try await self.broker.declare(.pushline)
        self.apps = AppDirectory(store: self.store, lifetime: .zero)
        self.fanOut = EmbeddedFanOut(store: self.store, broker: self.broker, traces: traces, logger: self.logger)
        self.sweeper = Self.sweeper(
            fanOut: self.fanOut,
            store: self.store,
            apps: self.apps,
            broker: self.broker,
            logger: self.logger
        )
        _ = try await self.store.apply(.app(.default, try simulator.appSpec))
    }

    /// A sweeper of its own, as another process would have.
    func sweeper(fanOut: any SendFanOut, broker: InMemoryBroker) -> Sweeper {
        Self.sweeper(
            fanOut: fanOut,
            store: self.store,
            apps: self.apps,
            broker: broker,
            logger: self.logger
        )
    }

    private static func sweeper(
        fanOut: any SendFanOut,
        store: any ResultStore,
        apps: AppDirectory,
        broker: InMemoryBroker,
        logger: Logger
    ) -> Sweeper {
        var configuration = Sweeper.Configuration()
        configuration.interval = .milliseconds(20)
        configuration.overdue = .milliseconds(100)
        configuration.housekeeping = .milliseconds(50)
        configuration.timeout = .seconds(1)
        return Sweeper(
            fanOut: fanOut,
            store: store,
            apps: apps,
            broker: broker,
            configuration: configuration,
            logger: logger
        )
    }

    /// The callers of the one hub over a wire that there is.
    var hubCallers: HubCallers {
        HubCallers(hubs: self.wireHub, store: self.store, apps: self.apps, logger: self.logger)
    }

    /// A delivery worker of its own, as another process would have.
    ///
    /// It is patient: a simulator on a busy machine answers late, and what is not answered in time is sent again.
    func deliveryWorker(
        _ configuration: DeliveryWorker.Configuration = DeliveryWorker.Configuration(),
        requestTimeout: Duration = .seconds(20),
        connectTimeout: Duration = .seconds(20),
        broker: InMemoryBroker? = nil,
        store: (any OutboxStore & OutcomeSink & PauseStore & SuspectStore)? = nil
    ) -> (worker: DeliveryWorker, senders: SenderRegistry) {
        var configuration = configuration
        configuration.retry.base = .milliseconds(50)
        var settings = SenderSettings()
        settings.requestTimeout = requestTimeout
        settings.connectTimeout = connectTimeout
        let senders = SenderRegistry(settings: settings, logger: self.logger)
        let worker = DeliveryWorker(
            senders: senders,
            hubs: self.hubCallers,
            store: store ?? self.store,
            apps: self.apps,
            broker: broker ?? self.broker,
            configuration: configuration,
            traces: self.traces,
            logger: self.logger
        )
        return (worker, senders)
    }

    /// Runs workers beside `body`, then ends them.
    func run(_ workers: Workers, _ body: @Sendable @escaping () async throws -> Void) async throws {
        let (delivery, senders) = self.deliveryWorker()
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                if workers.contains(.register) {
                    let worker = RegisterWorker(
                        hubs: AppHubs(embedded: EmbeddedRegistrations(store: self.store), wire: self.wireHub),
                        channels: APNsChannelClients(logger: self.logger),
                        store: self.store,
                        apps: self.apps,
                        broker: self.broker,
                        traces: self.traces,
                        logger: self.logger
                    )
                    group.addTask { try await worker.run() }
                }
                if workers.contains(.send) {
                    let worker = SendWorker(
                        fanOut: self.fanOut,
                        store: self.store,
                        apps: self.apps,
                        broker: self.broker,
                        traces: self.traces,
                        logger: self.logger
                    )
                    group.addTask { try await worker.run() }
                }
                if workers.contains(.delivery) { group.addTask { try await delivery.run() } }
                if workers.contains(.sweeper) { group.addTask { try await self.sweeper.run() } }
                if workers.contains(.dead) {
                    let keeper = DeadLetterConsumer(store: self.store, broker: self.broker, logger: self.logger)
                    group.addTask { try await keeper.run() }
                }
                defer { group.cancelAll() }
                try await body()
            }
        } catch is CancellationError {
            // The workers' end.
        }
        await senders.close()
    }

    // MARK: What a test does

    /// Registers a device as the register worker would.
    @discardableResult
    func register(
        _ user: String,
        _ pns: PushService,
        _ handle: String,
        tags: [String] = [],
        app: AppID = .default
    ) async throws -> RegistrationID {
        let name = try UserName(user, .folded)
        let id = RegistrationID.random()
        let requests: [RegisterRequest] = [
            .issue(candidate: id, handles: []),
            .upsert(id, .init(pns: pns, handle: Handle(stored: handle), tags: try tags.map { try Tag($0, .folded) })),
        ]
        for request in requests { try await self.change(request, of: name, app: app) }
        return id
    }

    /// Changes a registration as the register worker would.
    func change(_ request: RegisterRequest, of user: UserName, app: AppID = .default) async throws {
        let sequence = self.sequence.withLockedValue { number in
            number += 1
            return number
        }
        let result = try await self.store.register(request, of: RegisterJob(app: app, user: user, sequence: sequence))
        switch result {
        case .issued, .done: break
        default: Issue.record("\(String(describing: result))")
        }
    }

    /// Registers APNs devices side by side, so that the store commits them together.
    func register(_ user: String, devices: ClosedRange<Int>, tags: [String] = []) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in devices {
                group.addTask { try await self.register(user, .apns, token(number), tags: tags) }
            }
            try await group.waitForAll()
        }
    }

    /// Registers APNs devices in a few transactions.
    func importDevices(_ handles: [String], user: String?, tag: String, app: AppID = .default) async throws {
        let (name, tags) = (try user.map { try UserName($0, .folded) }, [try Tag(tag, .folded)])
        var rest = handles[...]
        while !rest.isEmpty {
            let rows = rest.prefix(2000).map {
                ImportedRegistration(pns: .apns, handle: Handle(stored: $0), user: name, tags: tags)
            }
            rest = rest.dropFirst(rows.count)
            let results = try await self.store.importRegistrations(rows, app: app, sequence: nil, lifetime: nil).results
            #expect(results.allSatisfy { $0 == .created })
        }
    }

    /// Accepts jobs as the API does, each on its own in one transaction.
    func accept(_ jobs: [NewJob]) async throws -> AcceptedJobs { try await self.store.accept(jobs) }

    func accept(
        _ work: Job.Work,
        app: AppID = .default,
        user: UserName? = nil,
        priority: Priority = .normal,
        expires: Duration = .seconds(3600),
        startsAt: Timestamp? = nil,
        recipients: RecipientList? = nil,
        request: RequestID? = nil
    ) async throws -> Job {
        let new = NewJob(
            app: app,
            user: user,
            priority: priority,
            work: work,
            lifetime: expires,
            startsAt: startsAt,
            recipients: recipients,
            request: request
        )
        let accepted = try await self.accept([new])
        guard case .accepted(let job) = accepted.answers.first else {
            throw HarnessError("a new job was not accepted")
        }
        self.messages.withLockedValue { $0[job.id] = (accepted.messages + accepted.deferred).first }
        self.deferred.withLockedValue { $0.formUnion(accepted.deferred.map(\.id)) }
        return job
    }

    /// Accepts a send to a user and publishes it, as the API does; or does not, as when the API died.
    func send(
        to tag: String,
        _ text: String = "hello",
        platforms: [PushService] = [],
        timeToLive: Duration? = nil,
        expires: Duration = .seconds(3600),
        isPublished: Bool = true,
        request id: RequestID? = nil
    ) async throws -> JobID {
        let request = SendRequest(
            audience: .tag(try Tag(tag, .folded)),
            platforms: platforms,
            content: .message(.init(title: nil, body: text)),
            timeToLive: timeToLive
        )
        let job = try await self.accept(.send(request), expires: expires, request: id)
        if isPublished { try await self.publish(job) }
        return job.id
    }

    /// The message of a job that was accepted by itself.
    func message(of id: JobID) throws -> OutboxMessage {
        guard let message = self.messages.withLockedValue({ $0[id] }) else { throw HarnessError("no message of \(id)") }
        return message
    }

    /// Publishes a job's message, unless its app's window had no room for it.
    func publish(_ job: Job) async throws {
        let message = try self.message(of: job.id)
        guard !self.deferred.withLockedValue({ $0.contains(message.id) }) else { return }
        try await self.publish([message])
    }

    /// Publishes messages as the API does, and says so at once.
    func publish(_ messages: [OutboxMessage]) async throws {
        let results = await self.broker.publish(messages.map { OutgoingMessage(hint: $0) }, deadline: .seconds(1))
        try await self.store.markPublished(zip(messages, results).filter { $0.1.isPublished }.map(\.0))
    }

    /// Fans a send out as a process does that ends then.
    ///
    /// - Parameters:
    ///   - id: The send.
    ///   - broker: Where its delivery messages go; one without queues takes none, and they are due again at once.
    /// - Throws: What the hub throws.
    func fanOut(_ id: JobID, at broker: any MessageBroker = InMemoryBroker()) async throws {
        let fanOut = EmbeddedFanOut(store: self.store, broker: broker, logger: self.logger)
        var claim = try #require(try await self.store.claim(try self.message(of: id).id, peeking: false))
        let spec = try self.simulator.appSpec
        while true {
            switch try await fanOut.advance(claim, spec: spec, budget: .seconds(1)).progress {
            case .more(let next, _), .blocked(let next, _, _): claim = next
            case .done, .lost: return
            }
        }
    }

    func job(_ id: JobID, app: AppID = .default) async throws -> Job {
        guard let job = try await self.store.job(id, app: app) else { throw HarnessError("the job is gone") }
        return job
    }

    /// Waits until the job is as wanted.
    @discardableResult
    func wait(
        for id: JobID,
        app: AppID = .default,
        within limit: Duration = .seconds(60),
        until isWanted: @Sendable (Job) -> Bool = { $0.state.isFinal }
    ) async throws -> Job {
        let end = ContinuousClock.now.advanced(by: limit)
        while true {
            let job = try await self.job(id, app: app)
            if isWanted(job) { return job }
            guard ContinuousClock.now < end else {
                throw HarnessError("the job stayed \(job.state), \(job.reason ?? "without a reason"): \(job.counts)")
            }
            try await Task.sleep(for: .milliseconds(10))
        }
    }
}
