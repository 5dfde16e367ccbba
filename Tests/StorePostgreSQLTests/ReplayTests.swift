import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// Dead letters are replayed over PostgreSQL by the statements by which they are in SQLite.
@Suite(.enabled(if: TestServer.isThere), .undisturbed) struct ReplayTests {
    private let keep: StoreAdministration

    init() throws { self.keep = try StoreAdministration(StoreOptions()) }

    private static let secret = "5ec7e75ec7e7"
    private static let upsert = RegisterRequest.Upsert(pns: .apns, handle: Handle(stored: secret), tags: [])

    /// Each that has a handle.
    static let requests: [RegisterRequest] = [
        .upsert(.random(), upsert), .create(candidate: .random(), upsert),
        .issue(candidate: .random(), handles: Handle.lookupForms(of: secret.uppercased())),
    ]

    private func isKept(in work: SQLStatement) async throws -> Bool? {
        try await self.keep.text(work)?.lowercased().contains(Self.secret)
    }

    @Test(arguments: requests) func aRegisterJobIsReplayedWithItsHandle(request: RegisterRequest) async throws {
        let id = try await self.keep.insert(1, .register(request), .queued, message: 1)
        try await self.keep.insertMessage(.register, members: 1, jobs: 1...1)
        try await self.keep.deadLetter(1)
        #expect(try await self.keep.number("SELECT state FROM job") == Job.State.abandoned.number)
        #expect(try await self.isKept(in: "SELECT work FROM job") == false)
        #expect(try await self.isKept(in: "SELECT work FROM dead") == true)
        // What is left of it can be read.
        let left = try #require(try await self.keep.text("SELECT work FROM job"))
        #expect(try StoredJSON.work(from: Array(left.utf8)).kind == .register)
        #expect(try await self.keep.engine.replay(deadLetter: 1, app: .default) == .begun(job: id, devices: nil))
        #expect(try await self.keep.number("SELECT state FROM job") == Job.State.queued.number)
        #expect(try await self.isKept(in: "SELECT work FROM job") == true)
        #expect(try await self.keep.number("SELECT count(*) FROM message JOIN job ON job.message = message.id") == 1)
        #expect(try await self.keep.number("SELECT CAST(sum(unfinished) AS bigint) FROM backlog") == 1)
        #expect(try await self.keep.engine.replay(deadLetter: 1, app: .default) == nil)
    }

    @Test func aSendGoesOn() async throws {
        let id = try await self.keep.insert(1, nil, .queued, message: 1)
        try await self.keep.insertMessage(.send, members: 1, jobs: 1...1)
        try await self.keep.deadLetter(1)
        #expect(try await self.keep.number("SELECT state FROM job") == Job.State.abandoned.number)
        #expect(try await self.keep.engine.replay(deadLetter: 1, app: .default) == .begun(job: id, devices: nil))
        #expect(try await self.keep.number("SELECT state FROM job WHERE fanned_out = 0") == Job.State.queued.number)
        #expect(try await self.keep.number("SELECT CAST(sum(unfinished) AS bigint) FROM backlog") == 1)
    }

    @Test func theDevicesOfADeadBatchAreTriedAgain() async throws {
        let id = try await self.keep.insert(1, message: nil)
        try await self.keep.insertMessage(.deliver(.apns), members: 1, jobs: 1...1)
        let devices = [2, 5, 7].map { RetryDevice(row: $0, tries: 1, wait: .zero) }
        try await self.keep.run(
            "UPDATE job SET fanned_out = 1",
            """
            INSERT INTO batch(job, pns, page, attempt, from_id, to_id, size, open, message, retries)
            VALUES (1, \(PushService.apns.number), 0, 1, 0, 9, 3, 1, 1, \(RetryList.encode(devices)))
            """
        )
        try await self.keep.deadLetter(1)
        #expect(try await self.keep.number("SELECT state FROM job") == Job.State.completed.number)
        #expect(try await self.keep.number("SELECT count(*) FROM delivery") == 3)
        #expect(try await self.keep.engine.replay(deadLetter: 1, app: .default) == .begun(job: id, devices: 3))
        #expect(try await self.keep.number("SELECT state FROM job") == Job.State.running.number)
        #expect(try await self.keep.number("SELECT retries FROM outcome WHERE failed = 0") == 3)
        #expect(try await self.keep.number("SELECT count(*) FROM delivery") == 0)
        let next: SQLStatement = """
            SELECT batch.size FROM batch JOIN message ON message.id = batch.message WHERE batch.attempt = 2 AND batch.open = 1
            """
        #expect(try await self.keep.number(next) == 3)
        #expect(try await self.keep.number("SELECT CAST(sum(unfinished) AS bigint) FROM backlog") == 1)
    }

    /// Of a first attempt, those of its range are that are there now.
    @Test func aDeadPageIsReadAgain() async throws {
        let work = Job.Work.send(
            SendRequest(
                audience: .tag(try Tag("t", .folded)),
                platforms: [],
                content: .message(.init(title: "t", body: "b"))
            )
        )
        let id = try await self.keep.insert(1, work, message: nil)
        try await self.keep.insertMessage(.deliver(.apns), members: 1, jobs: 1...1)
        try await self.keep.run(
            "UPDATE job SET fanned_out = 1",
            """
            INSERT INTO batch(job, pns, page, attempt, from_id, to_id, size, open, message)
            VALUES (1, \(PushService.apns.number), 0, 0, 0, 9, 3, 1, 1)
            """
        )
        for number in 1...2 { try await self.keep.register("handle\(number)", tags: [Tag("t", .folded)]) }
        try await self.keep.deadLetter(1)
        #expect(try await self.keep.engine.replay(deadLetter: 1, app: .default) == .begun(job: id, devices: 2))
        #expect(try await self.keep.number("SELECT failed FROM outcome WHERE retries = 2") == 1)
        #expect(try await self.keep.number("SELECT size FROM batch WHERE attempt = 1") == 2)
    }
}
