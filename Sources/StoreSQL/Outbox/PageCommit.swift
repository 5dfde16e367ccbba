import PushModel
package import Store
import StoreKit

/// The next pages of a campaign, each with a delivery message of its own.
package struct PageCommit: StepCommit {
    private let step: PageStep
    private let message: ClaimedMessage

    package init(_ step: PageStep, of message: ClaimedMessage) { (self.step, self.message) = (step, message) }

    private var job: Int64 { self.step.sequence }

    package var reads: [SQLStatement] {
        self.message.reads(jobs: [self.job], for: .page, messages: self.step.batches.count) + [
            "SELECT pns, next_page FROM cursor WHERE job = \(self.job)"
        ]
    }

    package func decide(_ answers: [[SQLRow]]) throws -> SQLDecision<Ended<FanOutResult>> {
        var (endings, answers) = (JobEndings(self.message.clock), answers[...])
        guard var found = try self.message.found(&answers) else { return endings.decision(.lost) }
        let isMember = found.members.contains(self.job)
        // Until the claim, other sends may have joined (rule 15): now it is a group.
        if !self.message.claim.isClaimed, found.open > (isMember ? 1 : 0) { return endings.decision(.joined) }
        let pages = try Dictionary(
            uniqueKeysWithValues: answers.removeFirst().map { row in
                (try PushService(stored: row["pns"]), try row["next_page"] as Int)
            }
        )
        // A step that was committed before is not the next.
        let first = self.step.batches.first?.page
        guard isMember, first == nil || pages[self.step.pns] ?? 0 == first else { return endings.decision(.lost) }
        let devices = self.step.batches.reduce(into: DeviceCount()) { $0.add($1.size, $1.named) }
        let kind: CreditKind = first == 0 ? .first : .page
        var limits = found.limits
        guard limits.spend(devices, of: found.app, at: self.step.pns, kind, self.message.priority) else {
            return endings.decision(.noCredit)
        }
        let isLast = self.step.cursors.allSatisfy(\.isDone)
        let wall = self.message.clock.wall
        endings.make(.page, of: self.job, from: .running, self.message.number, wall, isLast)
        endings.add(self.message.leave(isLast ? 1 : 0, of: found.open))
        endings.add(try self.move(isFirst: pages.isEmpty, devices: devices.all))
        let numbers = try self.step.batches.map { _ in try found.nextNumber() }
        endings.add(self.rows(numbers, app: found.app))
        endings.add(limits.writes(since: found.limits))
        // Where these pages have a device, something is open.
        if isLast, numbers.isEmpty { endings.completeIfDone(self.job) }
        let deliveries = numbers.map { self.message.message($0, in: .deliver(self.step.pns)) }
        return endings.decision(.written(FanOutWritten(deliveries: deliveries, isDone: isLast)))
    }

    /// Moves the cursor; the first step writes all.
    private func move(isFirst: Bool, devices: Int) throws -> [SQLStatement] {
        let pns = self.step.pns
        guard let moved = self.step.cursors.first(where: { $0.pns == pns }) else {
            throw StoreError(.corrupt, "a step without its cursor")
        }
        guard isFirst else { return [CampaignTable.move(of: self.job, to: moved, devices: devices).expecting(1)] }
        return self.message.rows.cursors(
            self.step.cursors.map { NewCursor($0, of: self.job, devices: $0.pns == pns ? devices : 0) }
        )
    }

    /// The pages with their messages.
    private func rows(_ numbers: [Int64], app: Int64) -> [SQLStatement] {
        guard !numbers.isEmpty else { return [] }
        let (pns, pages, now) = (self.step.pns, zip(numbers, self.step.batches), self.message.clock.now)
        let messages = pages.map { number, page in
            let message = NewMessage(
                deliveryAt: pns,
                app: app,
                self.message.priority,
                members: 1,
                size: page.size,
                jobs: self.job...self.job,
                now: now
            )
            return (number: number, message: message)
        }
        return self.message.rows.messages(messages)
            + self.message.rows.batches(pages.map { NewBatch($1, of: self.job, at: pns, in: $0) })
    }
}
