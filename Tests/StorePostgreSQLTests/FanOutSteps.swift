import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing

@testable import StorePostgreSQL

/// Sends to users, and steps of their fan-out, over two stores on one database.
struct FanOutSteps {
    let stores: TwoStores
    private let registering: RegistrationScenario

    var first: PostgreSQLStore { self.stores.first }
    var second: PostgreSQLStore { self.stores.second }

    init(_ limits: JobLimits = JobLimits()) throws {
        self.stores = try TwoStores(limits)
        self.registering = RegistrationScenario(self.stores.fixture)
    }

    /// Registers users, each with so many devices of APNs.
    func register(_ users: [String], devices: Int = 1) async throws {
        for user in users {
            for number in 0..<devices {
                try await self.registering.register(user: user, handle: "\(user)\(number)", tags: ["all"])
            }
        }
    }

    func sends(to users: [String]) throws -> [NewJob] {
        try users.map { user in
            let tag = PushModel.Tag(user: try UserName(user, .folded))
            return NewJob(
                app: .default,
                work: .send(self.registering.send(to: .tag(tag))),
                lifetime: .seconds(3600)
            )
        }
    }

    /// Accepts sends that share a message.
    func accept(_ users: [String], joining message: MessageID? = nil) async throws -> (jobs: [JobID], [OutboxMessage]) {
        let jobs = try self.sends(to: users)
        return (jobs.map(\.id), try await self.first.accept(jobs, joining: message).messages)
    }

    /// What a claim has, each send in the message of its service; with more devices than a small send has, in one of its own.
    func step(for claim: FanOutClaim, sends most: Int = .max) throws -> FanOutStep {
        guard case .group(let sends, _)? = claim.work else { throw Unexpected("\(claim)") }
        let divided = sends.prefix(most).map { send in
            guard case .all(let reaches) = send.audience else {
                return FanOutSend(sequence: send.sequence, decision: .ownMessage)
            }
            let pages = reaches.map {
                SinglePage(pns: $0.pns, size: $0.devices.count, named: $0.devices.named, message: $0.pns.number)
            }
            return FanOutSend(sequence: send.sequence, decision: .batches(pages, through: send.through))
        }
        return .group(GroupStep(sends: divided, messages: 6))
    }

    /// The first page of a campaign at APNs, which is its last.
    func page(of claim: FanOutClaim, devices: Int) throws -> FanOutStep {
        guard case .campaign(let campaign)? = claim.work else { throw Unexpected("\(claim)") }
        let cursors = campaign.cursors.map { cursor in
            let isMoved = cursor.pns == .apns
            return AudienceCursor(
                pns: cursor.pns,
                after: cursor.through,
                through: cursor.through,
                nextPage: isMoved ? 1 : 0,
                isDone: true
            )
        }
        let page = FanOutPage(page: 0, from: 0, to: cursors[0].through, size: devices)
        return .pages(PageStep(sequence: campaign.job.sequence, cursors: cursors, pns: .apns, batches: [page]))
    }

    /// Runs two changes, of which neither writes before both have read and wait for rows of a table.
    func together<One: Sendable, Other: Sendable>(
        holding table: String,
        _ one: @escaping @Sendable () async throws -> One,
        _ other: @escaping @Sendable () async throws -> Other
    ) async throws -> (One, Other) {
        let release = try self.stores.hold(table)
        async let first = one()
        async let second = other()
        try await release()
        return (try await first, try await second)
    }

    func number(_ query: SQLStatement) async throws -> Int? { try await self.stores.fixture.number(query) }

    /// Messages that count other open members than they have, batches that are in none, and a backlog that is not the unfinished jobs'.
    func faults() async throws -> [String] {
        let checks: [(String, SQLStatement)] = [
            (
                "messages count other members than they have",
                """
                SELECT count(*) FROM message WHERE open <>
                    (SELECT count(*) FROM job WHERE job.message = message.id AND job.finished IS NULL)
                    + (SELECT count(*) FROM batch WHERE batch.message = message.id AND batch.open = 1)
                """
            ),
            (
                "open batches are in no message",
                """
                SELECT count(*) FROM batch WHERE open = 1 AND NOT EXISTS (SELECT 1 FROM message WHERE message.id = batch.message)
                """
            ),
            (
                "unfinished jobs are in no message, and nothing of them is open",
                """
                SELECT count(*) FROM job WHERE finished IS NULL
                    AND NOT EXISTS (SELECT 1 FROM message WHERE message.id = job.message)
                    AND NOT EXISTS (SELECT 1 FROM batch WHERE batch.job = job.sequence AND batch.open = 1)
                """
            ),
            (
                "the backlog is not the unfinished jobs",
                """
                SELECT abs((SELECT CAST(sum(unfinished) AS bigint) FROM backlog) - (SELECT count(*) FROM job WHERE finished IS NULL))
                """
            ),
        ]
        var faults: [String] = []
        for (fault, count) in checks where try await self.number(count) != 0 { faults.append(fault) }
        return faults
    }
}
