import Broker
import Foundation
import Logging
import PushModel
import Store
import StoreSQLite
import Testing
import Undisturbed

@testable import Intake

/// Sends that come at the same time are accepted together, and each has its own answer.
@Suite(.undisturbed) struct SendGroupsTests {
    private static func with(
        window: InFlightWindow = InFlightWindow(),
        losesAnswers: Bool = false,
        _ body: (SendGroups, any ResultStore) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pushline-groups-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var configuration = SQLiteStore.Configuration(path: folder.appending(path: "store.sqlite").path)
        configuration.window = window
        let store: any ResultStore = try await SQLiteStore.open(configuration)
        let publisher = JobPublisher(
            store: store,
            broker: InMemoryBroker(),
            deadline: .seconds(1),
            logger: Logger(label: "test")
        )
        let outbox: any OutboxStore = losesAnswers ? AnswersLost(store: store) : store
        try await body(SendGroups(acceptor: JobAcceptor(store: outbox, publisher: publisher)), store)
    }

    private static func send(app: AppID = .default, id: JobID = .make(), key: String? = nil) throws -> NewJob {
        let request = SendRequest(
            audience: .tag(Tag(user: try UserName("ann", .folded))),
            content: .message(.init(body: "hello"))
        )
        return NewJob(
            id: id,
            app: app,
            work: .send(request),
            lifetime: .seconds(60),
            idempotency: key.map { .init(caller: "key:a", route: "POST /api/sends", key: $0, hash: [1]) }
        )
    }

    /// What came of sends that were all there at once, in their order; nil where one was refused by an error.
    private static func accept(_ jobs: [NewJob], by groups: SendGroups) async -> [JobAcceptance?] {
        await withTaskGroup(of: (Int, JobAcceptance?).self) { tasks in
            for (index, job) in jobs.enumerated() {
                tasks.addTask {
                    do { return (index, try await groups.accept(job)) } catch { return (index, nil) }
                }
            }
            var answers = [JobAcceptance?](repeating: nil, count: jobs.count)
            for await (index, answer) in tasks { answers[index] = answer }
            return answers
        }
    }

    @Test func manyConcurrentSendsShareMessagesAndAllAreAccepted() async throws {
        try await Self.with { groups, store in
            let other = try AppID("other")
            let jobs = try (0..<300).map { try Self.send(app: $0 % 3 == 0 ? other : .default) }
            let answers = await Self.accept(jobs, by: groups)
            for (job, answer) in zip(jobs, answers) {
                guard case .accepted(let accepted)? = answer else {
                    Issue.record("not accepted")
                    continue
                }
                #expect(accepted.id == job.id && accepted.app == job.app && accepted.state == .queued)
                #expect(try await store.job(job.id, app: job.app) == accepted)
            }
            let messages = try await store.takeDue([.send], overdue: .zero, limit: 500)
            #expect(messages.count < 100)
            // What comes later is not held up by what is over.
            guard case .accepted = try await groups.accept(Self.send()) else { throw CancellationError() }
        }
    }

    /// A message that waits for room lingers like any other: else a burst beyond the window had a message for every few sends.
    @Test func manyBeyondTheWindowShareMessagesToo() async throws {
        try await Self.with(window: InFlightWindow(jobMessages: 1)) { groups, store in
            _ = try await store.accept([Self.send()])
            let answers = await Self.accept(try (0..<300).map { _ in try Self.send() }, by: groups)
            #expect(!answers.contains(nil))
            var messages = 0
            // The first, which nobody has published, and one at a time of those behind it.
            while let message = try await store.takeDue([.send], overdue: .zero, limit: 500).first {
                let claim = try #require(try await store.claim(message.id, peeking: false))
                guard case .group(let sends, _)? = claim.work else { throw CancellationError() }
                for send in sends { _ = try await store.cancel(send.id, app: .default) }
                messages += 1
            }
            #expect((2..<40).contains(messages), "\(messages)")
        }
    }

    @Test func aRepeatInTheSameGroupIsTheSameSend() async throws {
        try await Self.with { groups, store in
            let jobs = try (0..<40).map { try Self.send(key: "k\($0 % 10)") }
            let ids = await Self.accept(jobs, by: groups).map { answer in
                switch answer {
                case .accepted(let job)?: job.id
                case .repeated(let id)?: id
                default: nil as JobID?
                }
            }
            #expect(!ids.contains(nil))
            #expect(Set(ids).count == 10)
            for index in ids.indices { #expect(ids[index] == ids[index % 10]) }
        }
    }

    @Test func aSendThatFailsDoesNotFailTheOthersOfItsGroup() async throws {
        try await Self.with { groups, store in
            let taken = JobID.make()
            _ = try await store.accept([Self.send(id: taken)])
            var jobs = try (0..<30).map { _ in try Self.send() }
            jobs.insert(try Self.send(id: taken), at: 15)
            let answers = await Self.accept(jobs, by: groups)
            #expect(answers.enumerated().allSatisfy { ($0.offset == 15) == ($0.element == nil) })
        }
    }

    /// What may have been committed is not written again, one by one, as what was refused is; and its callers hear that.
    @Test func sendsWhoseAnswerIsLostAreNotWrittenAgain() async throws {
        try await Self.with(losesAnswers: true) { groups, store in
            let jobs = try (0..<20).map { _ in try Self.send() }
            await withTaskGroup(of: Void.self) { tasks in
                for job in jobs {
                    tasks.addTask {
                        let error = await #expect(throws: StoreError.self) { try await groups.accept(job) }
                        #expect(error?.code == .unknown)
                    }
                }
            }
            // Each of them is there, once.
            #expect(try await store.state().jobs == jobs.count)
            #expect(try await store.jobs(jobs.map(\.id)).count == jobs.count)
        }
    }
}

/// A driver that commits, and loses each answer.
private struct AnswersLost: OutboxStore {
    let store: any OutboxStore

    private func lose<Answer>(_ answer: Answer) throws -> Answer {
        throw StoreError(.unknown, "the connection was lost")
    }

    func accept(_ jobs: [NewJob], joining message: MessageID?) async throws -> AcceptedJobs {
        try self.lose(await self.store.accept(jobs, joining: message))
    }

    func markPublished(_ messages: [OutboxMessage]) async throws {
        try self.lose(await self.store.markPublished(messages))
    }

    func takeDue(_ queues: Set<WorkQueue>, overdue: Duration, limit: Int) async throws -> [OutboxMessage] {
        try self.lose(await self.store.takeDue(queues, overdue: overdue, limit: limit))
    }

    func `defer`(_ message: MessageID, epoch: Int?, _ deferral: Deferral) async throws -> Bool {
        try self.lose(await self.store.defer(message, epoch: epoch, deferral))
    }

    func redelivered(_ message: MessageID) async throws -> (count: Int, members: Int)? {
        try self.lose(await self.store.redelivered(message))
    }

    func split(_ message: MessageID) async throws { try self.lose(await self.store.split(message)) }
}
