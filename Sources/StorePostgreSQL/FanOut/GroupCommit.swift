import PushModel
import Store
import StoreKit
import StoreSQL

/// Sends of a group with their batches and delivery messages: a statement a table, however many they are.
struct GroupCommit: StepCommit {
    private static let fanOut = JobTransitions(.fanOut, varying: Set(1...7))
    private static let findNoTarget = JobTransitions(.findNoTarget, varying: Set(1...3))

    private let step: GroupStep
    private let message: ClaimedMessage
    private let window: InFlightWindow

    init(_ step: GroupStep, of message: ClaimedMessage, window: InFlightWindow) {
        (self.step, self.message, self.window) = (step, message, window)
    }

    /// Sends that go on alone.
    private var alone: [Int64] {
        self.step.sends.compactMap { if case .ownMessage = $0.decision { $0.sequence } else { nil } }
    }

    // MARK: Reading

    var reads: [SQLStatement] {
        let alone = self.alone
        let reads = self.message.reads(
            jobs: self.step.sends.map(\.sequence),
            for: .fanOut,
            messages: self.step.messages + alone.count
        )
        guard !alone.isEmpty else { return reads }
        let load = AcceptanceWrites.load(
            of: .app(self.message.claim.message.app),
            in: .send,
            self.message.priority,
            now: self.message.clock.now,
            most: self.window.jobMessages
        )
        let works: SQLStatement = """
            SELECT sequence, work FROM job WHERE sequence = ANY(\(SQLArray.integers(alone))) ORDER BY sequence
            """
        return reads + [works, CampaignTable.highest, CampaignTable.ends(of: alone), load]
    }

    // MARK: Deciding

    func decide(_ answers: [[SQLRow]]) throws -> SQLDecision<Ended<FanOutResult>> {
        var (endings, answers) = (JobEndings(self.message.clock), answers[...])
        guard let found = try self.message.found(&answers) else { return endings.decision(.lost) }
        var limits = found.limits
        for (pns, devices) in self.step.devices {
            guard limits.spend(devices, of: found.app, at: pns, .first, self.message.priority) else {
                return endings.decision(.noCredit)
            }
        }
        var rows = Rows(self.message, found, deliveries: self.step.messages)
        var written = FanOutWritten()
        var alone: [Int64] = []
        for send in self.step.sends {
            guard found.members.contains(send.sequence) else {
                written.lost.insert(send.sequence)
                continue
            }
            switch send.decision {
            case .ownMessage: alone.append(send.sequence)
            case .batches(let batches, let through): try rows.add(batches, of: send.sequence, through: through)
            }
        }
        if !alone.isEmpty { try self.add(alone, answers, to: &rows, &written) }
        written.deliveries = rows.deliveries.all.map {
            $0.map { self.message.message($0.number, in: .deliver($0.pns)) }
        }
        let left = self.step.sends.count - written.lost.count
        written.isDone = left == found.open
        endings.add(rows.jobs)
        endings.add(self.message.leave(left, of: found.open))
        endings.add(rows.others)
        endings.add(limits.writes(since: found.limits))
        endings.count(.findNoTarget, of: rows.withoutTarget.count)
        return endings.decision(.written(written))
    }

    private func add(
        _ alone: [Int64],
        _ answers: ArraySlice<[SQLRow]>,
        to rows: inout Rows,
        _ written: inout FanOutWritten
    ) throws {
        var answers = answers
        let works = answers.removeFirst()
        let ends = (highest: answers.removeFirst(), ofLists: answers.removeFirst())
        guard let load = try answers.first?.first.map({ try JobLoad($0) }) else {
            throw StoreError(.corrupt, "there is no count of messages")
        }
        var window = JobWindow(self.window)
        for row in works {
            let job: Int64 = try row["sequence"]
            guard alone.contains(job) else { continue }
            let request = try StoredJSON.send(from: Array((row["work"] as String).utf8))
            let cursors = try CampaignTable.newCursors(for: request, of: job, ends)
            let state = window.begin(in: .send) { _, _ in load }
            let number = try rows.add(job, cursors, state)
            if state == .ready { written.ownMessages.append(self.message.message(number, in: .send)) }
        }
    }

    // MARK: Writing

    /// What is written, by tables.
    private struct Rows {
        private let message: ClaimedMessage
        private var found: ClaimedMessage.Found
        private(set) var deliveries: GroupDeliveries
        /// The parameters of the transitions of each.
        private(set) var withoutTarget: [[Int64?]] = []
        private var fannedOut: [[Int64?]] = []
        private var batches: [NewBatch] = []
        private var alone: [(job: Int64, message: (number: Int64, message: NewMessage))] = []
        private var cursors: [NewCursor] = []

        init(_ message: ClaimedMessage, _ found: ClaimedMessage.Found, deliveries: Int) {
            (self.message, self.found) = (message, found)
            self.deliveries = GroupDeliveries(count: deliveries)
        }

        mutating func add(_ batches: [SinglePage], of job: Int64, through: Int64) throws {
            let common: [Int64?] = [job, self.message.number, self.message.clock.wall.milliseconds]
            guard !batches.isEmpty else { return self.withoutTarget.append(common) }
            var only: [Int64?] = [nil, nil, nil, nil]
            for batch in batches {
                var found = self.found
                let delivery = try self.deliveries.number(for: batch, of: job) { try found.nextNumber() }
                self.found = found
                self.deliveries.put(batch, of: job)
                if batches.count == 1 {
                    // A single batch needs no row of its own.
                    only = [Int64(batch.pns.number), through, Int64(batch.size), delivery]
                } else {
                    let page = FanOutPage(page: 0, from: 0, to: through, size: batch.size)
                    self.batches.append(NewBatch(page, of: job, at: batch.pns, in: delivery))
                }
            }
            self.fannedOut.append(common + only)
        }

        /// Gives a send a message of its own, in which each service has a cursor.
        ///
        /// - Returns: Its number.
        mutating func add(_ job: Int64, _ cursors: [AudienceCursor], _ state: MessageState) throws -> Int64 {
            let number = try self.found.nextNumber()
            let message = NewMessage(
                queue: .send,
                app: self.found.app,
                priority: self.message.priority.rank,
                state: state,
                due: self.message.clock.now,
                members: 1,
                jobs: job...job
            )
            self.alone.append((job, (number, message)))
            self.cursors += cursors.map { NewCursor($0, of: job) }
            return number
        }

        private static func changes(_ transitions: JobTransitions, _ rows: [[Int64?]]) -> [SQLStatement] {
            guard !rows.isEmpty else { return [] }
            return [transitions.statement(OutboxRows.columns(of: rows).map { .array($0) }).expecting(rows.count)]
        }

        /// The changes of jobs, each of which must find all of them as they were read.
        var jobs: [SQLStatement] {
            let changes =
                Self.changes(GroupCommit.fanOut, self.fannedOut)
                + Self.changes(GroupCommit.findNoTarget, self.withoutTarget)
            guard !self.alone.isEmpty else { return changes }
            let (jobs, messages) = (self.alone.map { $0.job }, self.alone.map { $0.message.number })
            let move: SQLStatement = """
                UPDATE job SET message = own.message
                FROM unnest(\(SQLArray.integers(jobs)), \(SQLArray.integers(messages))) AS own(job, message)
                WHERE sequence = own.job AND job.message = \(self.message.number)
                """
            return changes + [move.expecting(self.alone.count)]
        }

        /// New messages and batches, and where the sends begin that go on alone.
        var others: [SQLStatement] {
            let deliveries = self.deliveries.all.compactMap { $0 }.map { delivery in
                let message = NewMessage(
                    deliveryAt: delivery.pns,
                    app: self.found.app,
                    self.message.priority,
                    members: delivery.batches,
                    size: delivery.devices,
                    jobs: delivery.jobs,
                    now: self.message.clock.now
                )
                return (number: delivery.number, message: message)
            }
            return OutboxRows.messages(self.alone.map { $0.message } + deliveries) + OutboxRows.batches(self.batches)
                + OutboxRows.cursors(self.cursors)
        }
    }
}
