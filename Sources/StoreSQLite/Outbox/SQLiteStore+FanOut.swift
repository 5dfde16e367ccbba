package import PushModel
package import Store
import StoreKit
import StoreSQL

extension SQLiteStore: FanOutEngine {
    package func peek(_ message: MessageID) async throws -> FanOutClaim? {
        let flow = self.flowControl
        return try await self.read(size: .short) { try $0.peek(message, flow: flow) }
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
                let message = ClaimedMessage(claim, clock: self.clock, rows: OutboxTable.self)
                let commit = PageCommit(pages, of: message)
                return try await self.end(SQLTransaction(reading: commit.reads) { try commit.decide($0) })
            case .abandon(let reason): return try await self.abandon(claim, reason: reason)
            }
        } catch is NoCredit {
            return .noCredit
        }
    }
}

/// A rate limit is used up: the counts for other services, and the claim, are rolled back with everything else.
struct NoCredit: Error {}

extension WriteContext {
    /// Extends the lease of a claim, if it is the latest; one that only peeked takes the message over.
    fileprivate func renew(_ claim: FanOutClaim) throws -> Bool {
        try self.database.answer(FanOutTable.renewal(of: claim, at: self.now)).count > 0
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
        if row.open == 1, try self.isCampaign(first) {
            return try self.campaign(first.sequence).map { .campaign($0) }
        }
        return .group(sends, credit: credit)
    }

    /// Whether a send goes page by page: it reaches many, or has begun so.
    private func isCampaign(_ send: SmallSend) throws -> Bool {
        if case .large = send.audience { return true }
        return try self.exists("SELECT 1 FROM cursor WHERE job = ?", [send.sequence])
    }

    /// A campaign with its cursors, or those that it begins with.
    func campaign(_ sequence: Int64) throws -> Campaign? {
        try CampaignTable.campaign(CampaignTable.reads(of: sequence).map { try self.answer($0).rows })
    }

    func highestRegistration() throws -> Int64 {
        try self.value(CampaignTable.highest.text) ?? 0
    }
}
