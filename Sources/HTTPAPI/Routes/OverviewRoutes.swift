import Broker
import HTTPTypes
import Hummingbird
import Intake
import Metrics
import NIOConcurrencyHelpers
import PushModel
import PushlineMetrics
import Store
import WebServing

/// How an app is at the moment, for its operators: read every other second at most, however many look.
struct OverviewRoutes: Sendable {
    let context: RouteContext
    private let overviews: Overviews

    init(context: RouteContext) {
        self.context = context
        self.overviews = Overviews(context)
    }

    var routes: [Route] { [Route(.get, "/api/overview", handler: self.show)] }

    private func show(_ request: APIRequest) async throws -> Response {
        try request.caller.requireSeeingAll()
        _ = try request.query.strict(known: [])
        guard let found = await self.overviews.overview(of: request.app, prefix: request.prefix) else {
            throw Problem.later(.serviceUnavailable, "too many wait for the overview", seconds: 2)
        }
        return .json(try found.get(), status: .ok, cacheControl: "no-store")
    }
}

/// The overviews of apps, one of each at most ``lifetime`` old.
final class Overviews: Sendable {
    private struct Key: Hashable {
        let app: AppID
        /// Of the links in it.
        let prefix: String
    }

    /// As often as a page asks: however many there are, the store is asked as often as by one.
    private static let lifetime = Duration.seconds(2)
    /// The most unfinished sends, and dead letters, that are looked at.
    private static let shownSends = 20
    private static let countedDead = 100

    private let context: RouteContext
    private let copies = NIOLockedValueBox<[Key: SharedCopy<Result<[UInt8], any Error>>]>([:])
    /// Questions to the store.
    private let reads = MetricDescription.overviewReads.counter()

    init(_ context: RouteContext) { self.context = context }

    /// The JSON; nil while too many wait for it.
    func overview(of app: AppID, prefix: String) async -> Result<[UInt8], any Error>? {
        let copy = self.copies.withLockedValue { copies in
            let key = Key(app: app, prefix: prefix)
            if let copy = copies[key] { return copy }
            // Declared apps alone come here: a handful.
            let (context, reads) = (self.context, self.reads)
            let copy = SharedCopy<Result<[UInt8], any Error>>(lifetime: Self.lifetime) {
                do { return .success(try await Self.make(app, prefix: prefix, context, reads)) } catch {
                    return .failure(error)
                }
            }
            copies[key] = copy
            return copy
        }
        return await copy.value()
    }

    private static func make(
        _ app: AppID,
        prefix: String,
        _ context: RouteContext,
        _ reads: Counter
    ) async throws -> [UInt8] {
        let store = context.store
        reads.increment(by: 2)
        let sends = try await store.jobs(
            JobQuery(app: app, kind: .send, isUnfinished: true, limit: Self.shownSends)
        )
        let seen = await context.monitor.snapshots(noting: sends.items)
        let broker = await context.broker.status
        // One more than is shown says that there are more.
        let standing = try await store.standing(of: app, mostDead: Self.countedDead + 1)
        var rates: [PushService: Double] = [:]
        for snapshot in seen { rates.merge(snapshot.rates ?? [:], uniquingKeysWith: +) }
        let queues = WorkQueue.allCases.map {
            QueueRoutes.text($0, load: standing.queues[$0], pauses: standing.pauses, app: app)
        }
        return JSONValue.members([
            "at": .string(Timestamp.now.iso8601), "version": .string(context.configuration.version),
            "sends": .members([
                "items": .array(seen.map { .written($0.text(prefix: prefix).bytes) }),
                "isComplete": .bool(sends.cursor == nil),
            ]),
            "rate": Self.text(rates), "queues": .array(queues),
            "broker": .string(broker.word), "brokerFault": broker.blockedReason.map { .string($0) },
            "processes": ProcessText(context.processes, app: app).value,
            "dead": .members([
                "count": .integer(min(standing.dead, Self.countedDead)),
                "isComplete": .bool(standing.dead <= Self.countedDead),
            ]),
            "ended": Self.ended(standing), "space": standing.room.space.map(Self.text),
            "backup": standing.room.backup.map { .string($0.iso8601) },
        ]).bytes
    }

    private static func text(_ rates: [PushService: Double]) -> JSONValue {
        .object(
            rates.sorted { $0.key < $1.key }.map { pns, rate in
                JSONValue.Member(pns.rawValue, .number(String((rate * 10).rounded() / 10)))
            }
        )
    }

    /// The sends that did not get to their devices.
    private static func ended(_ standing: AppStanding) -> JSONValue {
        .members([
            "expired": .integer(standing.ended[.expired] ?? 0),
            "abandoned": .integer(standing.ended[.abandoned] ?? 0),
            "since": .string(Timestamp.now.advanced(by: .zero - AppStanding.endedWithin).iso8601),
        ])
    }

    private static func text(_ space: StoreSpace) -> JSONValue {
        .members([
            "store": .number("\(space.store)"), "log": .number("\(space.log)"), "free": .number("\(space.free)"),
        ])
    }
}
