package import PushModel
package import Store

extension Scenario {
    // MARK: Campaigns

    /// Claims the message of a send that is fanned out page by page.
    ///
    /// - Returns: nil when nothing of it is to be fanned out.
    package func claimCampaign(_ job: Job) async throws -> CampaignClaim? {
        guard let claim = try await self.store.claim(self.message(of: job.id).id, peeking: false) else { return nil }
        guard case .campaign(let campaign) = claim.work else { throw Unexpected("it is a group: \(claim)") }
        return CampaignClaim(scenario: self, claim: claim, campaign: campaign)
    }

    /// Fans a send out in pages of `size`, and says that its messages are published.
    package func fanOut(_ job: Job, pages size: Int = 10) async throws -> [BatchKey] {
        guard var claim = try await self.claimCampaign(job) else { throw Unexpected("not claimed") }
        var keys: [BatchKey] = []
        for pns in claim.campaign.cursors.map(\.pns) {
            while let cursor = claim.campaign.cursors.first(where: { $0.pns == pns && !$0.isDone }) {
                var query = AudienceQuery(claim.campaign.request, job: job.sequence, app: job.app, pns: pns)
                (query.after, query.through, query.limit) = (cursor.after, cursor.through, size)
                let page = try await self.store.audience(query)
                let end = page.scannedThrough
                let result = try await claim.commit(
                    pns,
                    devices: page.rows.count,
                    through: end,
                    isDone: end >= cursor.through
                )
                guard case .written(let written) = result else { throw Unexpected("\(result)") }
                if !page.rows.isEmpty {
                    keys.append(BatchKey(job: job.id, pns: pns, page: cursor.nextPage, attempt: 0))
                }
                try await self.store.markPublished(written.deliveries.compactMap { $0 })
            }
        }
        return keys
    }

    // MARK: Groups

    /// Accepts sends, each to one user, that share a message.
    package func acceptGroup(_ users: [String], app: AppID = .default) async throws -> (
        message: OutboxMessage, jobs: [JobID]
    ) {
        let jobs = try users.map { user in
            NewJob(
                app: app,
                work: .send(self.send(to: .tag(PushModel.Tag(user: try UserName(user, .folded))))),
                lifetime: .seconds(3600)
            )
        }
        let accepted = try await self.store.accept(jobs)
        guard accepted.messages.count == 1, let message = accepted.messages.first else {
            throw Unexpected("\(accepted)")
        }
        self.note(message, jobs: jobs.map(\.id))
        return (message, jobs.map(\.id))
    }

    /// All sends that a claim has, read as far as they go.
    package func sends(of claim: FanOutClaim) async throws -> [SmallSend] {
        var claim = claim
        claim.position = 0
        var sends: [SmallSend] = []
        while case .group(let some, _)? = try await self.store.work(of: claim), let last = some.last {
            sends += some
            claim.position = last.sequence
        }
        return sends
    }

    /// Divides what a claim has: each service of a send goes into the message of that service.
    package func step(for claim: FanOutClaim) async throws -> (step: GroupStep, keys: [BatchKey]) {
        var step = GroupStep(messages: PushService.allCases.count)
        var keys: [BatchKey] = []
        for send in try await self.sends(of: claim) {
            guard case .all(let reaches) = send.audience else {
                step.sends.append(FanOutSend(sequence: send.sequence, decision: .ownMessage))
                continue
            }
            let batches = reaches.map { reach in
                keys.append(BatchKey(job: send.id, pns: reach.pns, page: 0, attempt: 0))
                let message = PushService.allCases.firstIndex(of: reach.pns) ?? 0
                return SinglePage(pns: reach.pns, size: reach.devices.count, message: message)
            }
            step.sends.append(FanOutSend(sequence: send.sequence, decision: .batches(batches, through: send.through)))
        }
        return (step, keys)
    }

    /// Commits a step of a group, and remembers the messages of its batches.
    package func commit(_ step: GroupStep, of claim: FanOutClaim, keys: [BatchKey] = []) async throws -> FanOutResult {
        let result = try await self.store.commit(.group(step), of: claim)
        if case .written(let written) = result {
            for key in keys {
                guard let index = PushService.allCases.firstIndex(of: key.pns), index < written.deliveries.count,
                    let message = written.deliveries[index]
                else { continue }
                self.note(message, batches: [key])
            }
        }
        return result
    }

    /// Fans a whole group out.
    ///
    /// - Returns: Its batches, and the messages that they travel in.
    package func fanOut(group message: OutboxMessage) async throws -> (keys: [BatchKey], deliveries: [OutboxMessage]) {
        guard let claim = try await self.store.claim(message.id, peeking: false) else {
            throw Unexpected("not claimed")
        }
        let (step, keys) = try await self.step(for: claim)
        let result = try await self.commit(step, of: claim, keys: keys)
        guard case .written(let written) = result, written.isDone else { throw Unexpected("\(result)") }
        return (keys, written.deliveries.compactMap { $0 })
    }
}

/// A campaign that a test fans out step by step.
package struct CampaignClaim: Sendable {
    let scenario: Scenario
    package var claim: FanOutClaim
    package var campaign: Campaign

    /// The cursor of a service.
    package func cursor(_ pns: PushService = .apns) throws -> AudienceCursor {
        guard let cursor = self.campaign.cursors.first(where: { $0.pns == pns }) else { throw Unexpected("no cursor") }
        return cursor
    }

    /// The name of a page's batch.
    package func key(_ pns: PushService = .apns, page: Int = 0) -> BatchKey {
        BatchKey(job: self.campaign.job.id, pns: pns, page: page, attempt: 0)
    }

    /// Commits the next page of a service, and moves its cursor.
    ///
    /// - Parameters:
    ///   - pns: The service.
    ///   - devices: How many devices the page has; 0 = there is no page, only the cursor moves.
    ///   - named: How many of them have another credential than the default one.
    ///   - through: Where the page ends; nil = the cursor stays where it is, and the page is the first row.
    ///   - isDone: Whether this was the service's last page.
    /// - Returns: What came of it.
    /// - Throws: What the store throws.
    package mutating func commit(
        _ pns: PushService = .apns,
        devices: Int,
        named: [CredentialName: Int] = [:],
        through: Int64? = nil,
        isDone: Bool = false
    ) async throws -> FanOutResult {
        guard let index = self.campaign.cursors.firstIndex(where: { $0.pns == pns }) else {
            throw Unexpected("no cursor")
        }
        var cursors = self.campaign.cursors
        let page = cursors[index].nextPage
        let from = cursors[index].after
        var batches: [FanOutPage] = []
        if devices > 0 {
            batches = [FanOutPage(page: page, from: from, to: through ?? from + 1, size: devices, named: named)]
            cursors[index].nextPage += 1
        }
        if let through { cursors[index].after = through }
        cursors[index].isDone = isDone
        let step = PageStep(sequence: self.campaign.job.sequence, cursors: cursors, pns: pns, batches: batches)
        let result = try await self.scenario.store.commit(.pages(step), of: self.claim)
        if case .written(let written) = result {
            self.campaign.cursors = cursors
            self.claim = self.claim.claimed
            for message in written.deliveries.compactMap({ $0 }) {
                self.scenario.note(message, batches: [self.key(pns, page: page)])
            }
        }
        return result
    }
}

extension FanOutResult {
    /// What was written; throws when nothing was.
    package var written: FanOutWritten {
        get throws {
            guard case .written(let written) = self else { throw Unexpected("\(self)") }
            return written
        }
    }

    /// Whether something was written and more is to be done.
    package var isMore: Bool {
        guard case .written(let written) = self else { return false }
        return !written.isDone
    }
}
