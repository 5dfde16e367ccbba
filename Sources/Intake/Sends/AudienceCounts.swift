package import PushModel
package import Store

/// Counts audiences in slices, for a limited time.
package struct AudienceCounts: Sendable {
    /// How many registrations a send would be for.
    package struct Answer: Sendable {
        /// One for each service that it would go through.
        package var counts: [(pns: PushService, count: Int)] = []
        /// False if the time ran out: the counts are then lower bounds.
        package var isComplete = true
    }

    /// The most counts and other searches of audiences at a time: each keeps a connection for reading busy.
    package static let maximumUnderWay = 2

    private let store: any ResultStore
    private let time: Duration

    /// - Parameters:
    ///   - store: Where the registrations are.
    ///   - time: How long a count may take; after it the answer is a lower bound.
    package init(store: any ResultStore, time: Duration) {
        self.store = store
        self.time = time
    }

    /// Counts an audience.
    ///
    /// - Parameters:
    ///   - audience: The audience of a send.
    ///   - recipients: The devices of a list.
    ///   - app: The app whose devices they are.
    ///   - named: The services to count; empty = all.
    /// - Returns: The counts.
    /// - Throws: The store's error.
    package func count(
        _ audience: SendAudience,
        _ recipients: RecipientList?,
        of app: AppID,
        services named: [PushService]
    ) async throws -> Answer {
        let end = ContinuousClock.now + self.time
        let services = named.isEmpty ? PushService.allCases : named
        guard let audience = audience.expression else {
            let (found, isComplete) = try await self.services(of: recipients, app: app, until: end)
            let counts = services.map { pns in (pns, found.count { $0 == pns }) }
            return Answer(counts: counts, isComplete: isComplete)
        }
        var answer = Answer()
        let memory = AudienceMemory()
        for pns in services {
            var count = 0
            var query = AudienceQuery(.expression(audience), app: app, pns: pns, memory: memory)
            while query.after < .max {
                // Who has gone needs no answer.
                try Task.checkCancellation()
                guard ContinuousClock.now < end else {
                    answer.isComplete = false
                    break
                }
                let slice = try await self.store.count(query)
                count += slice.count
                query.after = slice.scannedThrough
            }
            answer.counts.append((pns, count))
        }
        return answer
    }

    /// The services of the devices of a list, as far as they are found in time.
    private func services(
        of list: RecipientList?,
        app: AppID,
        until end: ContinuousClock.Instant
    ) async throws -> ([PushService], isComplete: Bool) {
        switch list?.devices {
        case nil: return ([], true)
        case .handles(let handles): return (handles.map(\.pns), true)
        case .registrations(let ids):
            var found: [PushService] = []
            for id in ids {
                try Task.checkCancellation()
                guard ContinuousClock.now < end else { return (found, false) }
                guard let device = try await self.store.registration(id, app: app), device.state == .live else {
                    continue
                }
                if let pns = device.pns { found.append(pns) }
            }
            return (found, true)
        }
    }
}
