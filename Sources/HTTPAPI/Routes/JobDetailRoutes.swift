import HTTPTypes
import Hummingbird
import Intake
import Payloads
import PushModel
import PushlineLogging
import Store
import WebServing

/// What a send said, and why devices of it failed.
struct JobDetailRoutes: Sendable {
    let context: RouteContext
    private let permits: FairPermits
    private let tallies: FailureTallies

    /// Failures that are counted at a time: each reads some thousand rows.
    private static let counted = 4

    init(context: RouteContext) {
        self.context = context
        self.permits = FairPermits(Self.counted)
        let store = context.store
        self.tallies = FailureTallies { try await Self.look($0, app: $1, in: store) }
    }

    var routes: [Route] {
        [
            Route(.get, "/api/jobs/{id}/message", handler: self.message),
            Route(.get, "/api/jobs/{id}/failures", handler: self.failures),
        ]
    }

    private func message(_ request: APIRequest) async throws -> Response {
        let (job, send) = try await self.send(request, "a change of a registration has no message")
        guard !send.isEmptied else { return .json(.members(["emptied": .bool(true)])) }
        let begins = job.startsAt ?? job.accepted
        var new = NewSend(send)
        new.priority = job.priority
        let reached = send.platforms.isEmpty ? Set(job.counts.keys) : Set(send.platforms)
        let services = reached.isEmpty ? request.spec.services : reached.sorted()
        let previews = services.map { pns in
            SendPreview(of: new, at: pns, .default, begins: begins, spec: request.spec)
        }
        return .json(
            .members([
                "emptied": .bool(false),
                "message": SendMessageText(send: send, priority: job.priority, label: job.label).value,
                "services": PreviewJSON.json(services: previews),
            ])
        )
    }

    private func failures(_ request: APIRequest) async throws -> Response {
        _ = try request.query.strict(known: [])
        let (caller, id) = (try request.caller, try JobRoutes.id(request))
        guard let permit = self.permits.permit(for: caller) else { throw Self.tooMany }
        defer { withExtendedLifetime(permit) {} }
        guard let answer = await self.tallies.found(id, app: request.app) else { throw Self.tooMany }
        guard let found = try answer.get(), caller.maySee(found.job) else { throw JobRoutes.missing }
        LogContext.add(job: id)
        guard found.job.work.kind == .send else {
            throw Problem.notFound("a change of a registration has no devices")
        }
        return .json(found.json, status: .ok, cacheControl: "no-store")
    }

    private static let tooMany = Problem.later(
        .serviceUnavailable,
        "too many failures are being counted at once",
        seconds: 2
    )

    private static func look(_ id: JobID, app: AppID, in store: any JobStore) async throws -> FailureTallies.Found? {
        guard let job = try await store.job(id, app: app) else { return nil }
        guard job.work.kind == .send else { return FailureTallies.Found(job: job, json: []) }
        var tally = FailureTally()
        var query = DeliveryQuery(job: job.id, app: app, limit: 1000)
        repeat {
            let page = try await store.deliveries(query)
            tally.add(page.items)
            query.cursor = page.cursor
        } while query.cursor != nil && tally.looked < FailureTally.most
        return FailureTallies.Found(job: job, json: tally.json(of: job, isComplete: query.cursor == nil).bytes)
    }

    /// The send that is asked about, if the caller may see it.
    private func send(_ request: APIRequest, _ reason: String) async throws -> (Job, SendRequest) {
        _ = try request.query.strict(known: [])
        guard let job = try await self.context.store.job(try JobRoutes.id(request), app: request.app),
            try request.caller.maySee(job)
        else { throw JobRoutes.missing }
        LogContext.add(job: job.id)
        guard case .send(let send) = job.work else { throw Problem.notFound(reason) }
        return (job, send)
    }
}

/// Why devices of a job failed, by the words of their push services.
struct FailureTally {
    /// The most recorded devices that are looked at.
    static let most = 20_000
    /// The most words that are shown of each class of failures.
    private static let shown = 20

    private struct Key: Hashable {
        let pns: PushService
        let failure: FailureClass
        let reason: String
        let status: Int
    }

    private(set) var looked = 0
    private var found: [Key: (count: Int, example: DeliveryRecord)] = [:]

    mutating func add(_ records: [DeliveryRecord]) {
        self.looked += records.count
        for record in records {
            guard case .failed(let failure) = record.outcome else { continue }
            let key = Key(pns: record.pns, failure: failure, reason: record.reason, status: record.status)
            self.found[key, default: (0, record)].count += 1
        }
    }

    /// The answer, with the exact counts of a job.
    func json(of job: Job, isComplete: Bool) -> JSONValue {
        let items = job.counts.sorted { $0.key < $1.key }.flatMap { pns, counts in
            counts.failed.filter { $0.value > 0 }.sorted { ($1.value, $0.key.rawValue) < ($0.value, $1.key.rawValue) }
                .map { failure, count in
                    JSONValue.members([
                        "service": .string(pns.rawValue),
                        "outcome": .string(failure.rawValue),
                        "count": .integer(count),
                        "reasons": .array(self.reasons(pns, failure)),
                    ])
                }
        }
        return .members([
            "items": .array(items), "looked": .integer(self.looked), "isComplete": .bool(isComplete),
        ])
    }

    private func reasons(_ pns: PushService, _ failure: FailureClass) -> [JSONValue] {
        let own = self.found.filter { $0.key.pns == pns && $0.key.failure == failure }
        let sorted = own.sorted { ($1.value.count, $0.key.reason) < ($0.value.count, $1.key.reason) }
        return sorted.prefix(Self.shown).map { key, value in
            .members([
                "reason": key.reason.isEmpty ? nil : .string(key.reason),
                "status": key.status == 0 ? nil : .integer(key.status),
                "count": .integer(value.count),
                "example": JobRoutes.text(value.example),
            ])
        }
    }
}
