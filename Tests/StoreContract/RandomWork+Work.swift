import PushModel
import Store

/// What workers do with a message.
extension RandomWork {
    mutating func work() async throws -> [String] {
        if self.chance(10), let claim = self.claims.popLast() { return try await self.goOn(with: claim) }
        guard let message = self.one(of: self.messages) else { return [] }
        // Most are done with then; of the rest copies come.
        if self.chance(70) { self.messages.removeAll { $0.id == message.id } }
        switch message.queue {
        case .register: return try await self.register(message)
        case .send: return try await self.fanOut(message)
        case .deliver: return try await self.deliver(message)
        }
    }

    private mutating func register(_ message: OutboxMessage) async throws -> [String] {
        var said: [String] = []
        for job in try await self.store.registerJobs(of: message.id) {
            guard case .register(let request) = job.work else { throw Unexpected("\(job)") }
            let (lifetime, most) = (self.chance(30) ? self.seconds(100...100_000) : nil, self.chance(30) ? 2 : nil)
            let change = RegisterJob(
                app: job.app,
                user: job.user,
                sequence: job.sequence,
                lifetime: lifetime,
                most: most
            )
            var result: RegisterResult?
            for _ in 0..<100 where result == nil { result = try await self.store.register(request, of: change) }
            guard let result else { throw Unexpected("a change has no end: \(job)") }
            let waiter = try await self.chance(90) ? self.store.finishRegister(job.id, result: result) : nil
            said.append(Description.of((job, result, waiter)))
        }
        return said
    }

    // MARK: Fan-out

    private mutating func fanOut(_ message: OutboxMessage) async throws -> [String] {
        var found = try await self.store.claim(message.id, peeking: self.chance(50))
        // Beside an earlier claim, what was read may be old.
        if let claim = found, !claim.isClaimed, !claim.isFirst {
            found = try await self.store.claim(message.id, peeking: false)
        }
        guard let claim = found else { return ["nothing"] }
        if self.chance(10) {
            self.claims.append(claim)
            return [Description.of(claim)]
        }
        return [Description.of(claim)] + (try await self.goOn(with: claim))
    }

    private mutating func goOn(with claim: FanOutClaim) async throws -> [String] {
        var (claim, said) = (claim, [String]())
        if claim.isClaimed, self.chance(10) {
            let isLatest = try await self.store.extend(claim)
            said.append("extended: \(isLatest)")
        }
        for _ in 0..<self.number(1...4) {
            guard let work = claim.work, let (step, left) = try await self.step(of: work, &claim) else { break }
            let result = try await self.store.commit(step, of: claim)
            said.append(Description.of(result))
            guard case .written(let written) = result else { break }
            self.messages += written.deliveries.compactMap { $0 } + written.ownMessages
            guard !written.isDone else { break }
            claim = claim.claimed
            if let left { claim.work = left } else { claim.work = try await self.store.work(of: claim) }
        }
        return said
    }

    /// The next step, and the work that is left behind it where that need not be read.
    private mutating func step(
        of work: FanOutWork,
        _ claim: inout FanOutClaim
    ) async throws -> (FanOutStep, left: FanOutWork?)? {
        switch work {
        case .group(let sends, _):
            claim.position = sends.last?.sequence ?? 0
            return (.group(self.divide(sends)), nil)
        case .campaign(var campaign):
            if self.chance(5) { return (.abandon(reason: "the hub takes nothing"), nil) }
            guard let index = self.one(of: campaign.cursors.indices.filter { !campaign.cursors[$0].isDone }) else {
                return nil
            }
            let (cursor, job) = (campaign.cursors[index], campaign.job)
            var query = AudienceQuery(campaign.request, job: job.sequence, app: job.app, pns: cursor.pns)
            (query.after, query.through, query.limit) = (cursor.after, cursor.through, self.number(1...8))
            let page = try await self.store.audience(query)
            let end = page.scannedThrough
            campaign.cursors[index].after = end
            campaign.cursors[index].isDone = end >= cursor.through
            var batches: [FanOutPage] = []
            if !page.rows.isEmpty {
                let size = page.rows.count
                batches = [FanOutPage(page: cursor.nextPage, from: cursor.after, to: end, size: size)]
                campaign.cursors[index].nextPage += 1
            }
            let step = PageStep(sequence: job.sequence, cursors: campaign.cursors, pns: cursor.pns, batches: batches)
            return (.pages(step), .campaign(campaign))
        }
    }

    /// Each service of a send goes into the message of that service.
    private mutating func divide(_ sends: [SmallSend]) -> GroupStep {
        var step = GroupStep(messages: PushService.allCases.count)
        for send in sends {
            guard case .all(let reaches) = send.audience, self.chance(95) else {
                step.sends.append(FanOutSend(sequence: send.sequence, decision: .ownMessage))
                continue
            }
            let batches = reaches.map { reach in
                let message = PushService.allCases.firstIndex(of: reach.pns) ?? 0
                return SinglePage(pns: reach.pns, size: reach.devices.count, message: message)
            }
            step.sends.append(FanOutSend(sequence: send.sequence, decision: .batches(batches, through: send.through)))
        }
        return step
    }

    // MARK: Delivery

    private mutating func deliver(_ message: OutboxMessage) async throws -> [String] {
        let batches = try await self.store.batches(of: message.id).sorted { "\($0.key)" < "\($1.key)" }
        let within = self.chance(50) ? message.id : nil
        let found = try await self.store.status(of: batches.map(\.key), in: within)
        var said = batches.map { Description.of(($0.key, $0.job, $0.retries.count, $0.content)) }
        said += found.map { Description.of(($0.status, $0.began, $0.waiter, $0.request)) }
        var outcomes: [BatchOutcome] = []
        for (batch, located) in zip(batches, found) where self.chance(85) {
            outcomes.append(try await self.outcome(of: batch, self.chance(70) ? located.hint : nil))
        }
        for _ in 0..<(self.chance(10) ? 2 : 1) {
            let areRecorded = try await self.store.record(outcomes)
            said.append("\(areRecorded)")
        }
        return said
    }

    private mutating func outcome(of batch: DueBatch, _ hint: RowHint?) async throws -> BatchOutcome {
        var outcome = BatchOutcome(key: batch.key, hint: hint, at: self.time.wall)
        var query = AudienceQuery(batch.request, job: batch.job.sequence, app: batch.job.app, pns: batch.key.pns)
        (query.after, query.through) = (batch.from, batch.to)
        if batch.key.attempt > 0 { query.rows = batch.retries.map(\.row) }
        let page = try await self.store.wholeAudience(query)
        let addresses = page.addresses
        let rows = batch.key.attempt > 0 ? batch.retries.map(\.row).sorted() : page.rows
        // Most sends go well.
        let isGood = self.chance(40)
        for row in rows {
            switch isGood ? 0 : self.number(0...19) {
            case 0..<12:
                outcome.accepted += 1
                if batch.key.job.low & 1 == 0 { outcome.acceptedRows.append(row) }
            case 12:
                outcome.failures.append(DeviceFailure(row: row, failure: .unregistered, status: 410, reason: "Gone"))
                guard let address = addresses[row] else { continue }
                let before = self.time.wall
                outcome.deadHandles.append(DeadHandle(row: row, handle: address.handle, before: before, reason: "Gone"))
            case 13: outcome.failures.append(DeviceFailure(row: row, failure: .rejected, status: 400, reason: "Bad"))
            case 14: outcome.expired += 1
            case 15: outcome.cancelled += 1
            default: outcome.retries.append(RetryDevice(row: row, tries: 1, wait: self.seconds(1...60)))
            }
        }
        if !outcome.retries.isEmpty { outcome.retryReason = WaitReason("503", cause: self.chance(50) ? .service : nil) }
        return outcome
    }
}
