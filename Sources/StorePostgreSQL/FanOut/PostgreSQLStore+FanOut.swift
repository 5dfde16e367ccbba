package import PushModel
package import Store
import StoreKit
import StoreSQL

extension PostgreSQLStore: FanOutEngine {
    package func peek(_ message: MessageID) async throws -> FanOutClaim? {
        let isSend: SQLStatement = "message.queue = \(WorkQueue.send.number)"
        let (messages, members) = try await self.rows(
            SmallSendReads.message(message, where: isSend),
            SmallSendReads.members(of: message, after: 0)
        )
        guard let row = messages.first else { return nil }
        var claim = FanOutClaim(message: try OutboxMessage(row), claims: try row["claims"], isClaimed: false)
        claim.work = try await self.work(of: claim, row, members)
        return claim.work == nil ? nil : claim
    }

    package func work(of claim: FanOutClaim) async throws -> FanOutWork? {
        let isLatest: SQLStatement = "message.epoch = \(claim.message.epoch)"
        let (messages, members) = try await self.rows(
            SmallSendReads.message(claim.message.id, where: isLatest),
            SmallSendReads.members(of: claim.message.id, after: claim.position)
        )
        guard let row = messages.first else { return nil }
        return try await self.work(of: claim, row, members)
    }

    /// The next work of a message, by what was read of it and its members.
    private func work(of claim: FanOutClaim, _ message: SQLRow, _ members: [SQLRow]) async throws -> FanOutWork? {
        let flow = self.flowControl
        let reads = try SmallSendReads(members, app: message["number"], claim.message.priority, flow)
        guard let first = reads.members.first else { return nil }
        let isAlone = try (message["open"] as Int) == 1
        if isAlone, first.hasBegun || first.audience == .large { return try await self.campaign(first.sequence) }
        let answers = try await self.rows(reads.statements)
        let page = try await self.page(DeviceList(answers[0]), .native, through: .max)
        let (sends, credit) = try reads.sends(answers, page)
        if isAlone, sends.first?.audience == .large { return try await self.campaign(first.sequence) }
        return .group(sends, credit: credit)
    }

    private func campaign(_ job: Int64) async throws -> FanOutWork? {
        try CampaignTable.campaign(await self.rows(CampaignTable.reads(of: job))).map { .campaign($0) }
    }

    package func commit(_ step: FanOutStep, of claim: FanOutClaim) async throws -> FanOutResult {
        switch step {
        case .group(let group):
            return try await self.commit(of: claim) { GroupCommit(group, of: $0, window: self.limits.window) }
        case .pages(let pages): return try await self.commit(of: claim) { PageCommit(pages, of: $0) }
        case .abandon(let reason): return try await self.abandon(claim, reason: reason)
        }
    }

    /// One round trip reads what is decided by and takes numbers, another writes: so what comes of it is known before anything is written,
    /// and so if the answer to the commit is lost.
    private func commit(
        of claim: FanOutClaim,
        _ make: (ClaimedMessage) -> some StepCommit & Sendable
    ) async throws -> FanOutResult {
        let ended = try await self.repeating {
            let commit = make(ClaimedMessage(claim, clock: self.clock, rows: OutboxRows.self))
            return try await self.attemptReadingEach(SQLTransaction(reading: commit.reads) { try commit.decide($0) })
        }
        return await self.finish(ended)
    }

    package func credit(for kind: CreditKind, app: AppID, pns: PushService, priority: Priority) async throws -> Credit {
        let (flow, number) = (self.flowControl, try await self.number(of: app))
        let reads = ServiceLoads.Reads([.init(app: number, pns: pns, priority: priority)], now: flow.now)
        let loads = try reads.loads(await self.rows(reads.statements))
        return flow.credit(for: kind, priority, at: loads.load(of: number, at: pns, priority))
    }

    var flowControl: FlowControl { FlowControl(now: self.clock.now, window: self.limits.window) }
}
