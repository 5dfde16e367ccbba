import Foundation
import Logging
import NIOConcurrencyHelpers
import PushModel
import Store
import StoreKit

@testable import StoreSQLite

/// A store in a folder of its own, which goes when the test ends, on clocks that the test moves.
final class TemporaryStore: Sendable {
    let folder: URL
    let store: SQLiteStore
    let time: TestTime

    init(
        maximumBacklog: Int? = nil,
        patience: Duration = .seconds(5),
        window: FeedWindow = FeedWindow(),
        pace: AudiencePace = AudiencePace(),
        digestMask: UInt64 = .max,
        time: TestTime = TestTime()
    ) throws {
        self.folder = FileManager.default.temporaryDirectory.appendingPathComponent("pushline-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        self.time = time
        var configuration = SQLiteStore.Configuration(
            path: self.folder.appendingPathComponent("store.sqlite").path,
            maximumBacklog: maximumBacklog,
            patience: patience
        )
        configuration.window = window
        configuration.audiencePace = pace
        configuration.digestMask = digestMask
        self.store = try SQLiteStore(configuration: configuration, source: time)
    }

    /// Another store on the same file, as another process would have it.
    func another(time: TestTime? = nil) throws -> SQLiteStore {
        try SQLiteStore(configuration: self.store.configuration, source: time ?? self.time)
    }

    deinit {
        // Nothing can be done about a folder that does not go away.
        try? FileManager.default.removeItem(at: self.folder)
    }
}

/// Clocks that stand still until a test moves them.
final class TestTime: ClockSource {
    private struct State {
        var wall: Int64 = 1_800_000_000_000
        var sinceBoot: Int64 = 5_000_000
        var boot = "first"
    }
    private let state = NIOLockedValueBox(State())

    var wall: Timestamp { Timestamp(milliseconds: self.state.withLockedValue { $0.wall }) }
    var sinceBoot: Int64 { self.state.withLockedValue { $0.sinceBoot } }
    var bootID: String { self.state.withLockedValue { $0.boot } }

    func advance(_ duration: Duration) {
        self.state.withLockedValue {
            $0.wall += duration.milliseconds
            $0.sinceBoot += duration.milliseconds
        }
    }

    /// Someone sets the wall clock.
    func jump(_ duration: Duration) { self.state.withLockedValue { $0.wall += duration.milliseconds } }

    func reboot(_ name: String) {
        self.state.withLockedValue {
            $0.boot = name
            $0.sinceBoot = 1000
        }
    }
}

/// What most tests need of a store: registered devices, accepted sends, planned batches.
struct Scenario {
    let store: any ResultStore
    let time: TestTime

    static let lease = Duration.seconds(60)
    static let batchLease = Duration.seconds(2700)

    func tag(_ name: String) throws -> Tag { try Tag(name) }
    func user(_ name: String) throws -> UserName { try UserName(name) }

    func send(to expression: TagExpression, platforms: [PNS] = []) -> SendRequest {
        SendRequest(audience: expression, platforms: platforms, content: .message(.init(title: "t", body: "b")))
    }

    func accept(
        _ request: SendRequest,
        app: AppID = .default,
        priority: Priority = .normal,
        lifetime: Duration = .seconds(86400),
        waiter: String? = nil,
        user: UserName? = nil
    ) async throws -> Job {
        let new = NewJob(
            app: app,
            user: user,
            priority: priority,
            work: .send(request),
            lifetime: lifetime,
            waiter: waiter
        )
        guard case .accepted(let job) = try await self.store.accept(new) else { throw Unexpected("not accepted") }
        return job
    }

    /// The job that tells of a rich notification.
    func job(
        of notification: NewRichNotification,
        app: AppID = .default,
        idempotency: NewJob.Idempotency? = nil
    ) throws -> NewJob {
        NewJob(
            app: app,
            user: notification.sender,
            work: .send(self.send(to: .tag(Tag(user: notification.addressee)))),
            lifetime: .seconds(3600),
            idempotency: idempotency,
            notification: notification
        )
    }

    /// Keeps a rich notification, with its job.
    ///
    /// - Returns: Its id.
    @discardableResult
    func keep(_ notification: NewRichNotification, app: AppID = .default) async throws -> Int32 {
        guard case .accepted = try await self.store.accept(self.job(of: notification, app: app)) else {
            throw Unexpected("the job of a notification is not accepted")
        }
        return notification.id
    }

    /// Registers a device as its app does: by asking for an id, and putting it.
    @discardableResult
    func register(
        user: String,
        handle: String,
        pns: PNS = .apns,
        tags: [String] = [],
        app: AppID = .default,
        expires: Timestamp? = nil
    ) async throws -> RegistrationID {
        let candidate = RegistrationID.random()
        let issued = try await self.store.change(
            .issue(candidate: candidate, handles: [Handle(stored: handle)]),
            app: app,
            user: nil,
            sequence: try await self.sequence(app: app),
            expires: nil,
            most: nil
        )
        guard case .issued(let id) = issued else { throw Unexpected("\(issued)") }
        let result = try await self.upsert(
            id,
            user: user,
            handle: handle,
            pns: pns,
            tags: tags,
            app: app,
            expires: expires
        )
        guard result == .done else { throw Unexpected("\(result)") }
        return id
    }

    func upsert(
        _ id: RegistrationID,
        user: String?,
        handle: String,
        pns: PNS = .apns,
        tags: [String] = [],
        app: AppID = .default,
        sequence: Int64? = nil,
        expires: Timestamp? = nil
    ) async throws -> RegisterResult {
        let number: Int64
        if let sequence { number = sequence } else { number = try await self.sequence(app: app) }
        return try await self.store.change(
            .upsert(id, .init(pns: pns, handle: Handle(stored: handle), tags: try tags.map { try Tag($0) })),
            app: app,
            user: try user.map { try UserName($0) },
            sequence: number,
            expires: expires,
            most: nil
        )
    }

    /// The sequence of a new register job.
    func sequence(app: AppID = .default) async throws -> Int64 {
        let new = NewJob(
            app: app,
            work: .register(.delete(.random())),
            lifetime: .seconds(86400)
        )
        guard case .accepted(let job) = try await self.store.accept(new) else { throw Unexpected("not accepted") }
        _ = try await self.store.finishRegister(job.id, result: .done)
        return job.sequence
    }

    /// Claims a job and plans its whole audience in pages of `size`.
    func plan(_ job: Job, pages size: Int = 10, publish: Bool = true) async throws -> [BatchKey] {
        guard let claim = try await self.store.claim(job.id, lease: Self.lease) else { throw Unexpected("not claimed") }
        var keys: [BatchKey] = []
        for lane in claim.lanes {
            var lane = lane
            while !lane.isDone {
                let page = try await self.store.audience(
                    of: claim.request.audience,
                    app: job.app,
                    pns: lane.pns,
                    after: lane.after,
                    through: lane.through,
                    limit: size
                )
                var batches: [PlannedBatch] = []
                let end = page.scannedThrough
                if !page.rows.isEmpty {
                    batches = [PlannedBatch(page: lane.nextPage, from: lane.after, to: end, size: page.rows.count)]
                    keys.append(BatchKey(job: job.id, pns: lane.pns, page: lane.nextPage, attempt: 0))
                    lane.nextPage += 1
                }
                lane.after = end
                lane.isDone = end >= lane.through
                _ = try await self.store.commit(
                    PlanStep(batches: batches, lane: lane),
                    of: claim,
                    lease: Self.lease,
                    grace: .seconds(2)
                )
            }
        }
        if publish { try await self.store.markPublished(batches: keys, lease: Self.batchLease, isRepeat: false) }
        return keys
    }

    func job(_ id: JobID, app: AppID = .default) async throws -> Job {
        guard let job = try await self.store.job(id, app: app) else { throw Unexpected("no job") }
        return job
    }

    /// The counts of all services together.
    func tally(_ id: JobID, app: AppID = .default) async throws -> Tally {
        try await self.job(id, app: app).tallies.values.reduce(into: Tally()) { $0 += $1 }
    }
}

/// A test's setup went wrong.
struct Unexpected: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

extension NewJob {
    /// The same request once more, or with other work.
    func again(work: Job.Work? = nil) -> NewJob {
        NewJob(
            app: self.app,
            user: self.user,
            key: self.key,
            priority: self.priority,
            work: work ?? self.work,
            lifetime: self.lifetime,
            traceparent: self.traceparent,
            waiter: self.waiter,
            idempotency: self.idempotency,
            startsAt: self.startsAt
        )
    }
}

extension ContentStore {
    /// Keeps content, however much there is.
    func put(_ content: StoredContent, app: AppID) async throws -> String {
        let quota = AppSpec.Contents(accountBytes: 1 << 50, appBytes: 1 << 50)
        guard case .kept(let id) = try await self.put(content, app: app, key: nil, quota: quota) else {
            throw StoreError(.unavailable, "content was not kept")
        }
        return id
    }
}
