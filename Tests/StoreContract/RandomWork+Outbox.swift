import PushModel
import Store

/// What becomes of messages on their way.
extension RandomWork {
    mutating func publish() async throws -> [String] {
        let known = self.messages
        let some = known.filter { _ in self.chance(30) }
        try await self.store.markPublished(some)
        return []
    }

    mutating func take() async throws -> [String] {
        let queues = self.chance(60) ? WorkQueue.allCases : [self.one(of: WorkQueue.allCases) ?? .send]
        let overdue = self.chance(70) ? Duration.zero : .seconds(5)
        var taken: [(members: String, message: OutboxMessage)] = []
        while true {
            // Of how many at a time is an engine's own affair.
            let some = try await self.store.takeDue(Set(queues), overdue: overdue, limit: 200)
            for message in some { taken.append((try await self.members(of: message), message)) }
            if some.isEmpty { break }
        }
        taken.sort { ("\($0.message.queue)", $0.members) < ("\($1.message.queue)", $1.members) }
        self.note(taken.map(\.message))
        return taken.map { Description.of(($0.members, $0.message)) }
    }

    /// Who is in a message, in words.
    private func members(of message: OutboxMessage) async throws -> String {
        switch message.queue {
        case .register:
            let jobs = try await self.store.registerJobs(of: message.id)
            return "\(jobs.map(\.id))"
        case .send:
            switch try await self.store.claim(message.id, peeking: true)?.work {
            case .group(let sends, _)?: return "\(sends.map(\.id))"
            case .campaign(let campaign)?: return "\(campaign.job.id)"
            case nil: return "nothing"
            }
        case .deliver:
            let batches = try await self.store.batches(of: message.id)
            return "\(batches.map { "\($0.key)" }.sorted())"
        }
    }

    /// Remembers messages as they are now.
    mutating func note(_ messages: [OutboxMessage]) {
        let numbers = Set(messages.map(\.id))
        self.messages.removeAll { numbers.contains($0.id) }
        self.messages += messages
    }

    mutating func deferOne() async throws -> [String] {
        guard let message = self.one(of: self.messages) else { return [] }
        var deferral = Deferral(pause: self.seconds(0...20))
        if message.queue == .send, self.chance(40) { deferral.blockedOn = [self.pns()] }
        deferral.isContinued = self.chance(20)
        if self.chance(50) { deferral.reason = WaitReason("slow", cause: self.chance(30) ? .service : nil) }
        let epoch = self.chance(50) ? message.epoch : nil
        let isDeferred = try await self.store.defer(message.id, epoch: epoch, deferral)
        return ["\(message.queue): \(isDeferred)"]
    }

    mutating func redeliver() async throws -> [String] {
        guard let message = self.one(of: self.messages) else { return [] }
        let counted = try await self.store.redelivered(message.id)
        if self.chance(40) { try await self.store.split(message.id) }
        let fingerprint = [UInt8(self.number(0...5))]
        if self.chance(50) { try await self.store.clear(suspect: fingerprint) }
        let isSuspect = try await self.store.suspect(fingerprint)
        return [Description.of((message.queue, counted, isSuspect))]
    }

    mutating func cancel() async throws -> [String] {
        guard let job = self.one(of: self.jobs) else { return [] }
        return [Description.of(try await self.store.cancel(job.id, app: job.app))]
    }

    // MARK: Dead letters

    mutating func die() async throws -> [String] {
        guard let message = self.one(of: self.messages) else { return [] }
        let traces = try await self.store.deadLetter(
            IncomingDeadLetter(
                queue: "pushline.\(message.queue)",
                type: message.queue.kind,
                messageID: "\(message.id)",
                app: message.app,
                reason: "rejected",
                body: [1, 2]
            )
        )
        return [Description.of(traces)]
    }

    mutating func replay() async throws -> [String] {
        let app = self.app()
        let letters = try await self.store.deadLetters(DeadLetterQuery(app: app)).items
        guard let letter = self.one(of: letters) else { return [] }
        guard self.chance(80) else {
            return [Description.of(try await self.store.discard(deadLetter: letter.id, app: app))]
        }
        let replay = try await self.store.replay(deadLetter: letter.id, app: app)
        return [Description.of((letter, replay))]
    }

    // MARK: Calls of hubs

    mutating func call() async throws -> [String] {
        let sends = self.jobs.filter { Self.calls(of: $0) > 0 }
        guard let job = self.one(of: sends), self.chance(80) else { return try await self.askHubs() }
        let places = (1...Self.calls(of: job)).filter { _ in self.chance(60) }
        let calls = places.map { place in
            let number = Recipient(place: place, pns: .apns, handle: Handle(stored: ""), reference: nil).number
            return HubCallKey(job: job.id, pns: .apns, number: number)
        }
        let starts = try await self.store.beginHubCalls(calls, lasting: .seconds(30), isWithdrawn: self.chance(10))
        let begun = zip(calls, starts).filter { $0.1 == .begun }.map { $0.0 }
        if !begun.isEmpty, self.chance(80) {
            let ends: [HubCallEnd] = [
                .taken(id: "n\(self.number(0...99))"), .taken(id: nil), .notTaken, .refused, .unknown,
            ]
            try await self.store.recordHubCalls(begun, .ended(self.one(of: ends) ?? .unknown))
        }
        return [Description.of(starts)]
    }

    /// How many calls a job has, in the places from the first on.
    private static func calls(of job: Job) -> Int {
        guard case .send(let send) = job.work, case .hub(_, let calls) = send.audience else { return 0 }
        return calls
    }

    private mutating func askHubs() async throws -> [String] {
        let asked = try await self.store.takeHubCalls(limit: 100).sorted { Description.of($0) < Description.of($1) }
        let outcome = HubCall.Outcome(state: "Completed", devices: ["Success": self.number(0...9)])
        let news: [HubCallNews] = [
            .pending(nil, again: .seconds(60)), .complete(outcome), .notOffered, .ended(outcome),
        ]
        for call in asked { try await self.store.recordHubCalls([call.key], .said(self.one(of: news) ?? .notOffered)) }
        return asked.map { Description.of($0) }
    }
}
