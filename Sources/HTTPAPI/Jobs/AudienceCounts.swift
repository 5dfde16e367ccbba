import HTTPTypes
import NIOConcurrencyHelpers
import PushModel
import Store

/// Counts audiences, a slice at a time, for so long and not for too many at once.
struct AudienceCounts: Sendable {
    /// How many registrations a send would be for.
    struct Answer {
        /// One for each service that it would go through.
        var counts: [(pns: PNS, count: Int)] = []
        /// False when the time was over before all was counted: then there are at least so many.
        var isComplete = true
    }

    /// So many at a time: each keeps a connection for reading busy.
    static let maximumUnderWay = 2

    private let store: any ResultStore
    private let time: Duration
    private let underWay = NIOLockedValueBox(0)

    init(store: any ResultStore, time: Duration) {
        self.store = store
        self.time = time
    }

    /// - Throws: ``Problem`` 503 when others are being counted; what the store throws.
    func count(_ audience: TagExpression, app: AppID, platforms: [PNS]) async throws -> Answer {
        let isFirst = self.underWay.withLockedValue { underWay in
            guard underWay < Self.maximumUnderWay else { return false }
            underWay += 1
            return true
        }
        guard isFirst else { throw Problem.later(.serviceUnavailable, "other audiences are being counted", seconds: 1) }
        defer { self.underWay.withLockedValue { $0 -= 1 } }

        let end = ContinuousClock.now + self.time
        var answer = Answer()
        for pns in platforms.isEmpty ? PNS.allCases : platforms {
            var count = 0
            var after: Int64 = 0
            while after < .max {
                guard ContinuousClock.now < end else {
                    answer.isComplete = false
                    break
                }
                let slice = try await self.store.count(of: audience, app: app, pns: pns, after: after, through: .max)
                count += slice.count
                after = slice.scannedThrough
            }
            answer.counts.append((pns, count))
        }
        return answer
    }
}
