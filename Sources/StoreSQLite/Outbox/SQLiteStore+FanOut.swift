import Foundation
import Logging
package import PushModel
package import Store
import StoreKit
import StoreSQL

extension SQLiteStore: FanOutStore {
    package func claim(_ message: MessageID, peeking: Bool) async throws -> FanOutClaim? {
        let flow = self.flowControl
        if peeking { return try await self.read(size: .short) { try $0.peek(message, flow: flow) } }
        let claim = try await self.write { context -> FanOutClaim? in
            let claims: Int? = try context.database.value(
                """
                UPDATE message SET epoch = epoch + \(OutboxMessage.claimStep), claims = claims + 1,
                    state = \(MessageState.published.rawValue), due = ?, blocked_on = 0
                WHERE id = ? AND queue = ? RETURNING claims
                """,
                [context.now + WorkQueue.send.lease.milliseconds, message.number, WorkQueue.send.number]
            )
            guard let claims, let row = try context.database.outboxMessage(message.number) else { return nil }
            return FanOutClaim(message: row, claims: claims, isClaimed: true)
        }
        guard var claim, let work = try await self.work(of: claim) else { return nil }
        claim.work = work
        return claim
    }

    package func extend(_ claim: FanOutClaim) async throws -> Bool {
        try await self.write { try $0.renew(claim, hasMoved: false) }
    }

    package func work(of claim: FanOutClaim) async throws -> FanOutWork? {
        let flow = self.flowControl
        return try await self.read { try $0.work(of: claim, flow: flow) }
    }

    package func commit(_ step: FanOutStep, of claim: FanOutClaim) async throws -> FanOutResult {
        let window = self.configuration.window
        do {
            switch step {
            case .group(let group):
                return try await self.write(.of(rows: group.sends.count)) { context in
                    guard try context.renew(claim) else { return .lost }
                    var writer = try GroupStepWriter(context: context, claim: claim, step: group, window: window)
                    return .written(try writer.write())
                }
            case .pages(let pages):
                return try await self.write { context in
                    guard try context.renew(claim) else { return .lost }
                    // Until the claim, other sends may have joined (rule 15): now it is a group.
                    if !claim.isClaimed, try context.database.onlyJob(of: claim.message.id) != pages.sequence {
                        throw Joined()
                    }
                    return try context.write(pages, of: claim).map(FanOutResult.written) ?? .lost
                }
            case .abandon(let reason):
                return try await self.write { context in
                    guard try context.renew(claim), let only = try context.database.onlyJob(of: claim.message.id)
                    else { return .lost }
                    let end = JobEndings.abandon(only, reason: reason, clock: context.clock)
                    return .written(FanOutWritten(isDone: true, waiter: try context.end(end)))
                }
            }
        } catch is NoCredit {
            return .noCredit
        } catch is Joined {
            return .joined
        }
    }

    package func batches(of message: MessageID) async throws -> [DueBatch] {
        try await self.dueBatches(of: message) { error, job in
            var metadata: Logger.Metadata = ["message.id": "\(message)", "error": "\(error)"]
            metadata["job.id"] = (job?.job).map { "\($0)" }
            metadata["request.id"] = (job?.request).map { "\($0)" }
            self.logger.warning("A batch cannot be read", metadata: metadata)
        }
    }
}

/// A rate limit is used up: the counts for other services, and the claim, are rolled back with everything else.
struct NoCredit: Error {}

/// The message of a campaign has other members: the claim is taken back with all else.
private struct Joined: Error {}

extension WriteContext {
    /// Extends the lease of a claim, if it is the latest; one that only peeked takes the message over.
    fileprivate func renew(_ claim: FanOutClaim, hasMoved: Bool = true) throws -> Bool {
        try self.database.change(
            """
            UPDATE message SET epoch = ?, state = \(MessageState.published.rawValue), due = ?, claims = iif(?, 0, claims),
                blocked_on = 0
            WHERE id = ? AND epoch = ?
            """,
            [
                claim.claimed.message.epoch, self.now + WorkQueue.send.lease.milliseconds, hasMoved,
                claim.message.id.number, claim.message.epoch,
            ]
        ) > 0
    }
}

extension Database {
    fileprivate func peek(_ message: MessageID, flow: FlowControl) throws -> FanOutClaim? {
        let claims: Int? = try self.value(
            "SELECT claims FROM message WHERE id = ? AND queue = ?",
            [message.number, WorkQueue.send.number]
        )
        guard let claims, let row = try self.outboxMessage(message.number) else { return nil }
        var claim = FanOutClaim(message: row, claims: claims, isClaimed: false)
        claim.work = try self.work(of: claim, flow: flow)
        return claim.work == nil ? nil : claim
    }

    /// The next work of the latest claim.
    fileprivate func work(of claim: FanOutClaim, flow: FlowControl) throws -> FanOutWork? {
        let row = try self.first(
            "SELECT first, last, open, app FROM message WHERE id = ? AND epoch = ?",
            [claim.message.id.number, claim.message.epoch]
        ) { (first: $0["first"] as Int64, last: $0["last"] as Int64, open: $0["open"] as Int, app: $0["app"] as Int64) }
        guard let row else { return nil }
        let priority = claim.message.priority
        let reader = try SmallSendReader(database: self, message: claim.message, app: row.app) { pns in
            flow.credit(for: .first, priority, at: try self.load(of: row.app, at: pns, priority, now: flow.now))
        }
        let (sends, credit) = try reader.sends(from: max(row.first, claim.position + 1), through: row.last)
        guard let first = sends.first else { return nil }
        if row.open == 1, try self.isCampaign(first) { return try self.campaign(first.sequence) }
        return .group(sends, credit: credit)
    }

    /// Whether a send goes page by page: it reaches many, or has begun so.
    private func isCampaign(_ send: SmallSend) throws -> Bool {
        if case .large = send.audience { return true }
        return try self.exists("SELECT 1 FROM cursor WHERE job = ?", [send.sequence])
    }

    private func campaign(_ sequence: Int64) throws -> FanOutWork? {
        guard let row = try self.jobRow(sequence: sequence), case .send(let request) = row.work else { return nil }
        var cursors = try self.cursors(of: sequence)
        // The first commit writes them: until then nothing depends on them.
        if cursors.isEmpty { cursors = try self.newCursors(for: request, job: sequence) }
        return .campaign(Campaign(job: row.plain, request: request, waiter: row.waiter, cursors: cursors))
    }

    private func cursors(of job: Int64) throws -> [AudienceCursor] {
        try self.all(
            "SELECT pns, after, through, next_page, done FROM cursor WHERE job = ? ORDER BY pns",
            [job]
        ) { row in
            AudienceCursor(
                pns: try PushService(stored: row["pns"]),
                after: row["after"],
                through: row["through"],
                nextPage: row["next_page"],
                isDone: row["done"]
            )
        }
    }

    /// A cursor for each service that the send goes to, up to the highest registration there is now, or the end of its list.
    func newCursors(for request: SendRequest, job: Int64) throws -> [AudienceCursor] {
        let highest = request.audience.expression == nil ? nil : try self.highestRegistration()
        let services =
            request.platforms.isEmpty ? PushService.allCases : PushService.allCases.filter(request.platforms.contains)
        return try services.map { pns in
            let through: Int64 = try highest ?? self.value(RecipientTable.last, [job, pns.number]) ?? 0
            return AudienceCursor(pns: pns, after: 0, through: through, nextPage: 0, isDone: false)
        }
    }

    func highestRegistration() throws -> Int64 {
        try self.value("SELECT coalesce(max(row), 0) FROM registration") ?? 0
    }

    /// The only job that a message stands for; nil where there are several, or none.
    func onlyJob(of message: MessageID) throws -> Int64? {
        guard let range = try self.jobRange(of: message.number) else { return nil }
        let jobs: [Int64] = try self.values(
            "SELECT sequence FROM job WHERE sequence BETWEEN ? AND ? AND message = ? LIMIT 2",
            [range.lowerBound, range.upperBound, message.number]
        )
        return jobs.count == 1 ? jobs.first : nil
    }
}
