import Broker
import Foundation
import Logging
import PushModel
import Store
import StoreSQLite
import Testing

@testable import HTTPAPI

/// Sends that come at the same time are accepted together, and each has its own answer.
@Suite struct SendGroupsTests {
    private static func with(_ body: (SendGroups, SQLiteStore) async throws -> Void) async throws {
        try await Self.withPublisher { groups, store, _, _ in try await body(groups, store) }
    }

    private static func withPublisher(
        _ body: (SendGroups, SQLiteStore, JobPublisher, InMemoryBroker) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pushline-groups-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try await SQLiteStore.open(
            SQLiteStore.Configuration(path: folder.appending(path: "store.sqlite").path)
        )
        let broker = InMemoryBroker()
        try await broker.declare(.pushline)
        let publisher = JobPublisher(
            store: store,
            broker: broker,
            deadline: .seconds(1),
            logger: Logger(label: "test")
        )
        try await body(SendGroups(store: store, publisher: publisher), store, publisher, broker)
    }

    private static func send(app: AppID = .default, id: JobID = .make(), key: String? = nil) throws -> NewJob {
        let request = SendRequest(
            audience: .tag(Tag(user: try UserName("ann"))),
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
    private static func accept(_ jobs: [NewJob], by groups: SendGroups) async -> [GroupAcceptance.Answer?] {
        await withTaskGroup(of: (Int, GroupAcceptance.Answer?).self) { tasks in
            for (index, job) in jobs.enumerated() {
                tasks.addTask {
                    do { return (index, try await groups.accept(job)) } catch { return (index, nil) }
                }
            }
            var answers = [GroupAcceptance.Answer?](repeating: nil, count: jobs.count)
            for await (index, answer) in tasks { answers[index] = answer }
            return answers
        }
    }

    @Test func manyAtOnceShareBundlesAndNoneIsMissing() async throws {
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
            let bundles = try await store.dueBundles(overdue: .zero, limit: 1000)
            #expect(bundles.count < 100)
            // What comes later is not held up by what is over.
            guard case .accepted = try await groups.accept(Self.send()) else { throw CancellationError() }
        }
    }

    /// In a rush a bundle grows over many commits, and is published when it has.
    @Test func inARushFewBundlesStandForAllAndEachIsPublished() async throws {
        try await Self.withPublisher { groups, store, publisher, broker in
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await publisher.run() }
                for _ in 0..<5 {
                    let answers = await Self.accept(try (0..<60).map { _ in try Self.send() }, by: groups)
                    #expect(answers.allSatisfy { if case .accepted? = $0 { true } else { false } })
                }
                let bundles = try await store.dueBundles(overdue: .zero, limit: 1000)
                #expect(bundles.count < 50)
                // A bundle that grew after it was published may be published again.
                let queue = QueueName.jobs(.send, .normal)
                while broker.ready(in: queue) < bundles.count { try await Task.sleep(for: .milliseconds(5)) }
                tasks.cancelAll()
            }
        }
    }

    @Test func aRepeatAmongThemIsTheSameSend() async throws {
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

    @Test func oneThatCannotBeWrittenDoesNotKeepOutTheOthers() async throws {
        try await Self.with { groups, store in
            let taken = JobID.make()
            _ = try await store.accept(Self.send(id: taken))
            var jobs = try (0..<30).map { _ in try Self.send() }
            jobs.insert(try Self.send(id: taken), at: 15)
            let answers = await Self.accept(jobs, by: groups)
            #expect(answers.enumerated().allSatisfy { ($0.offset == 15) == ($0.element == nil) })
        }
    }
}
