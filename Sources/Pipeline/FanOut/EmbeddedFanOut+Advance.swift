import Broker
import FaultInjection
package import Hub
package import PushModel
package import Store

// Fan-out: a step is read, written, and published; groups and campaigns differ in how they are read (rules 2, 4 and 12).
extension EmbeddedFanOut {
    package func advance(_ claim: FanOutClaim, spec: AppSpec, budget: Duration) async throws -> Advance {
        let configuration = self.configuration
        guard case .connected = await self.broker.status else {
            return Advance(.more(claim, after: configuration.brokerPause))
        }
        let end = ContinuousClock.now.advanced(by: budget)
        var claim = claim
        var advance = Advance(.lost)
        repeat {
            switch try await self.read(claim, spec: spec) {
            case .nothing: return advance.at(.lost)
            case .blocked(let next, let services, let pause):
                return advance.at(.blocked(next, on: services, after: pause))
            case .passedOver(let next): claim = next
            case .step(let prepared):
                CrashPoint.fanOutRead.reach()
                switch try await self.store.commit(prepared.step, of: claim) {
                case .lost: return advance.at(.lost)
                case .noCredit: return advance.at(.more(claim.rereadingGroup, after: configuration.windowPause))
                case .joined: return advance.at(.more(claim, after: .zero))
                case .written(let written):
                    CrashPoint.fanOutCommitted.reach()
                    claim = prepared.claim.claimed
                    advance.hasCommitted = true
                    advance.answered += prepared.answered(written)
                    let isPublished = await self.publish(prepared.deliveries(written), hints: written.ownMessages)
                    if written.isDone { return advance.at(.done) }
                    if !isPublished { return advance.at(.more(claim, after: configuration.brokerPause)) }
                }
            }
        } while ContinuousClock.now < end
        return advance.at(.more(claim, after: .zero))
    }

    /// The next work of a claim.
    private enum Reading {
        case step(PreparedStep)
        /// No send that was looked at may be written now; those behind may.
        case passedOver(FanOutClaim)
        case blocked(FanOutClaim, on: Set<PushService>, after: Duration)
        case nothing
    }

    private func read(_ claim: FanOutClaim, spec: AppSpec) async throws -> Reading {
        var work = claim.work
        if work == nil { work = try await self.store.work(of: claim) }
        switch work {
        case .group(let sends, let credit) where !sends.isEmpty:
            return self.divide(sends, credit: credit, of: claim, spec: spec)
        case .campaign(let campaign): return try await self.nextPages(of: campaign, of: claim, spec: spec)
        case .group, nil: return try await self.passEnd(of: claim)
        }
    }

    // MARK: Groups

    private func divide(
        _ sends: [SmallSend],
        credit: [PushService: Credit],
        of claim: FanOutClaim,
        spec: AppSpec
    ) -> Reading {
        var next = claim.rereadingGroup
        var fanOut = GroupFanOut(claim.message, credit: credit, spec: spec)
        for send in sends {
            guard fanOut.divide(send) else { break }
            next.position = send.sequence
        }
        next.blocked.formUnion(fanOut.blocked)
        guard !fanOut.step.sends.isEmpty else { return .passedOver(next) }
        let step = PreparedStep(
            step: .group(fanOut.step),
            messages: fanOut.messages,
            sends: fanOut.written.map { .init(sequence: $0.sequence, job: $0.id, waiter: $0.waiter) },
            claim: next
        )
        return .step(step)
    }

    /// After the last send of a group: the skipped ones wait for credit.
    private func passEnd(of claim: FanOutClaim) async throws -> Reading {
        var pause: Duration?
        for pns in claim.blocked {
            let credit = try await self.credit(for: .first, of: claim, at: pns)
            let wait = max(credit.shortestWait ?? .zero, self.configuration.windowPause)
            pause = min(pause ?? wait, wait)
        }
        guard let pause else { return .nothing }
        var next = claim.rereadingGroup
        (next.position, next.blocked) = (0, [])
        return .blocked(next, on: claim.blocked, after: pause)
    }

    // MARK: Campaigns

    /// The most devices that are written and published in one step: a few milliseconds' publishing, behind which an urgent send
    /// waits.
    private static let stepDevices = 12 * DeliverBatch.maximumDevices

    private func nextPages(of campaign: Campaign, of claim: FanOutClaim, spec: AppSpec) async throws -> Reading {
        var pause: Duration?
        for (index, cursor) in campaign.cursors.enumerated() where !cursor.isDone {
            // What has no device to read waits for no credit: a list may have none at a service that is paused.
            let isRead = cursor.after >= cursor.through
            let kind: CreditKind = cursor.nextPage == 0 ? .first : .page
            let credit = isRead ? Credit(devices: 0) : try await self.credit(for: kind, of: claim, at: cursor.pns)
            if isRead || credit.devices > 0,
                let step = try await self.pages(of: campaign, at: index, credit: credit, of: claim, spec: spec)
            {
                return .step(step)
            }
            let wait = max(credit.shortestWait ?? .zero, self.configuration.windowPause)
            pause = min(pause ?? wait, wait)
        }
        guard let pause else { return .nothing }
        let waiting = campaign.cursors.filter { !$0.isDone }.map(\.pns)
        return .blocked(claim.at(campaign), on: Set(waiting), after: pause)
    }

    /// The next pages of a cursor, as far as credit goes; nil where the next device's credential has none.
    private func pages(
        of campaign: Campaign,
        at index: Int,
        credit: Credit,
        of claim: FanOutClaim,
        spec: AppSpec
    ) async throws -> PreparedStep? {
        var cursors = campaign.cursors
        var cursor = cursors.remove(at: index)
        let (job, pns) = (campaign.job, cursor.pns)
        // Where a credential has none, not much may be read in vain.
        let isNearEnd = credit.limits.values.contains { $0.devices == 0 }
        var query = AudienceQuery(
            campaign.request,
            job: job.sequence,
            app: job.app,
            pns: pns,
            memory: campaign.memory
        )
        (query.after, query.through) = (cursor.after, cursor.through)
        query.limit = min(credit.devices, isNearEnd ? DeliverBatch.maximumDevices : Self.stepDevices)
        let found = try await self.store.audience(query)
        let count = credit.prefix(of: found)
        guard count > 0 || found.rows.isEmpty else { return nil }
        let audience = found.prefix(count)
        let pages = AudiencePages(audience, cursor: cursor).pages
        cursor.nextPage += pages.count
        cursor.after = audience.scannedThrough
        cursor.isDone = cursor.after >= cursor.through
        // Behind the others: each has its turn.
        cursors.append(cursor)
        let template = BatchTemplate(job, request: campaign.request, spec: spec, memory: campaign.memory)
        let step = PageStep(
            sequence: job.sequence,
            cursors: cursors,
            pns: pns,
            batches: pages.map(\.batch)
        )
        var messages: [[PreparedDelivery]] = []
        for page in pages {
            let key = BatchKey(job: job.id, pns: pns, page: page.batch.page, attempt: 0)
            let content = page.batch.template.flatMap { audience.contents[$0] }
            messages.append([template.prepare(key, devices: page.devices, template: content)])
            // A template may take a millisecond, a step has a hundred, and others wait for the thread.
            if content != nil { await Task.yield() }
        }
        return PreparedStep(
            step: .pages(step),
            messages: messages,
            sends: [.init(sequence: job.sequence, job: job.id, waiter: campaign.waiter)],
            // The waiter is notified once.
            claim: claim.at(campaign.with(cursors, waiter: pages.isEmpty ? campaign.waiter : nil))
        )
    }

    // MARK: Credit

    private func credit(for kind: CreditKind, of claim: FanOutClaim, at pns: PushService) async throws -> Credit {
        let message = claim.message
        return try await self.store.credit(for: kind, app: message.app, pns: pns, priority: message.priority)
    }
}

extension Advance {
    fileprivate func at(_ progress: Progress) -> Advance {
        Advance(progress, answered: self.answered, hasCommitted: self.hasCommitted)
    }
}

extension FanOutClaim {
    /// The claim without the sends of a group that were read: they and their credit are good for one step.
    fileprivate var rereadingGroup: FanOutClaim {
        guard case .group = self.work else { return self }
        var claim = self
        claim.work = nil
        return claim
    }

    fileprivate func at(_ campaign: Campaign) -> FanOutClaim {
        var claim = self
        claim.work = .campaign(campaign)
        return claim
    }
}

extension Campaign {
    fileprivate func with(_ cursors: [AudienceCursor], waiter: String?) -> Campaign {
        Campaign(job: self.job, request: self.request, waiter: waiter, cursors: cursors, memory: self.memory)
    }
}
