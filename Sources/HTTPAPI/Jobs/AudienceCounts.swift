import HTTPTypes
import PushModel
import Store

/// Counts audiences in slices, for a limited time and with a limit on concurrent counts.
struct AudienceCounts: Sendable {
    /// How many registrations a send would be for.
    struct Answer {
        /// One for each service that it would go through.
        var counts: [(pns: PushService, count: Int)] = []
        /// False if the time ran out: the counts are then lower bounds.
        var isComplete = true
    }

    /// The most concurrent counts: each keeps a connection for reading busy.
    static let maximumUnderWay = 2

    private let store: any ResultStore
    private let time: Duration
    private let permits = FairPermits(Self.maximumUnderWay)

    init(store: any ResultStore, time: Duration) {
        self.store = store
        self.time = time
    }

    /// - Throws: ``Problem`` 503 when too many counts run; the store's error.
    func count(_ target: SendTarget, for caller: Caller, services named: [PushService]) async throws -> Answer {
        guard self.permits.take(for: caller) else {
            throw Problem.later(.serviceUnavailable, "too many audiences are being counted at once", seconds: 1)
        }
        defer { self.permits.release(of: caller) }

        let end = ContinuousClock.now + self.time
        let services = named.isEmpty ? PushService.allCases : named
        guard let audience = target.audience.expression else {
            let (found, isComplete) = try await self.services(of: target.recipients, app: caller.app, until: end)
            let counts = services.map { pns in (pns, found.count { $0 == pns }) }
            return Answer(counts: counts, isComplete: isComplete)
        }
        var answer = Answer()
        let memory = AudienceMemory()
        for pns in services {
            var count = 0
            var query = AudienceQuery(.expression(audience), app: caller.app, pns: pns, memory: memory)
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
