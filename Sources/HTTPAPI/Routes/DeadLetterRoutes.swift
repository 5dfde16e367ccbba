import Broker
import HTTPTypes
import Hummingbird
import Intake
import Logging
import PushModel
import Store
import WebServing

/// Messages that no worker could process, for the app's operators.
struct DeadLetterRoutes: Sendable {
    let context: RouteContext

    var routes: [Route] {
        [
            Route(.get, "/api/dead", handler: self.list),
            Route(.get, "/api/dead/{id}", handler: self.show),
            Route(.delete, "/api/dead/{id}", handler: self.discard),
            Route(.post, "/api/dead/{id}/replay", handler: self.replay),
        ]
    }

    private func list(_ request: APIRequest) async throws -> Response {
        try request.caller.requireSeeingAll()
        let list = try ListQuery(request, filters: ["queue", "type", "reason", "job"])
        var query = DeadLetterQuery(app: request.app, cursor: try list.cursor, limit: try list.limit)
        (query.queue, query.type, query.reason) = (list["queue"], list["type"], list["reason"])
        query.job = try list.job
        let page = try await self.context.store.deadLetters(query)
        return .page(
            page.items.map { DeadLetterText(letter: $0, prefix: request.prefix).value(nil) },
            cursor: page.cursor
        )
    }

    private func show(_ request: APIRequest) async throws -> Response {
        try request.caller.requireSeeingAll()
        let id = try Self.id(request)
        guard let found = try await self.context.store.deadLetter(id, app: request.app) else {
            throw Self.missing("\(id)")
        }
        let text = DeadLetterText(letter: found, prefix: request.prefix)
        return .json(text.value(DeadLetterText.contents(of: found, body: found.body ?? [])))
    }

    private func discard(_ request: APIRequest) async throws -> Response {
        try request.caller.requireOperator()
        let id = try Self.id(request)
        let letter = try await self.context.act(.deadDiscard, target: "\(id)", request) {
            guard let letter = try await self.context.store.discard(deadLetter: id, app: request.app) else {
                throw Self.missing("\(id)")
            }
            return letter
        }
        self.log("An operator discarded a dead letter", id: id, job: letter.job, request: request)
        return Response(status: .noContent)
    }

    private func replay(_ request: APIRequest) async throws -> Response {
        try request.caller.requireOperator()
        let id = try Self.id(request)
        let (job, devices) = try await self.context.act(.deadReplay, target: "\(id)", request) {
            switch try await self.context.store.replay(deadLetter: id, app: request.app) {
            case nil: throw Self.missing("\(id)")
            case .refused(let reason): throw Problem(.conflict, "this dead letter cannot be replayed: \(reason)")
            case .begun(let job, let devices): (job, devices)
            }
        }
        self.context.monitor.forget(job)
        self.log("An operator replayed a dead letter", id: id, job: job, request: request)
        let answer = JSONValue.members([
            "job": .string(job.description),
            "href": .string("\(request.prefix)jobs/\(job)"),
            "devices": devices.map(JSONValue.integer),
        ])
        return .json(answer, status: .accepted)
    }

    private func log(_ message: Logger.Message, id: Int64, job: JobID?, request: APIRequest) {
        var metadata: Logger.Metadata = ["app": "\(request.app)", "dead.id": "\(id)"]
        metadata["caller"] = request.identity.map { "\($0.logged)" }
        metadata["job.id"] = job.map { "\($0)" }
        self.context.logger.info(message, metadata: metadata)
    }

    private static func missing(_ id: String) -> Problem { .notFound("there is no dead letter \(id.prefix(40))") }

    /// The message that is asked about, without a query.
    private static func id(_ request: APIRequest) throws -> Int64 {
        _ = try request.query.strict(known: [])
        let text = request.parameters["id"] ?? ""
        guard let id = Int64(text), id > 0, String(id) == text else { throw Self.missing(text) }
        return id
    }
}

/// The JSON of a dead letter, with shortened handles and without payloads.
struct DeadLetterText {
    let letter: DeadLetter
    /// The prefix of links.
    let prefix: String

    /// The most devices of a batch to show.
    private static let shownDevices = 10
    /// The most text of foreign origin to show.
    private static let maximumText = 500

    func value(_ contents: JSONValue?) -> JSONValue {
        let letter = self.letter
        return .members([
            "id": .string(String(letter.id)),
            "href": .string("\(self.prefix)dead/\(letter.id)"),
            "app": letter.app.map { .string($0.name) },
            "at": .string(letter.at.iso8601),
            "queue": .string(Self.short(letter.queue)),
            "type": .string(Self.short(letter.type)),
            // The number of a message of ours counts the work of all apps: it is in the log alone.
            "message": MessageID(letter.messageID) == nil ? .string(Self.short(letter.messageID)) : nil,
            "reason": .string(Self.short(letter.reason)),
            "bytes": .integer(letter.size),
            "job": letter.job.map { .string($0.description) },
            "canReplay": .bool(letter.blockedReason == nil),
            "blockedReason": letter.blockedReason.map(JSONValue.string),
            "contents": contents,
        ])
    }

    private static func short(_ text: String) -> String {
        text.count <= Self.maximumText ? text : text.prefix(Self.maximumText) + "…"
    }

    /// The readable part of a body.
    static func contents(of letter: DeadLetter, body: [UInt8]) -> JSONValue? {
        guard letter.type == WorkQueue.deliver(.apns).kind else { return nil }
        if body.isEmpty, letter.size > 0 {
            return .members([
                "unreadable": .string("the body was not kept: it could not be read, or its user was removed")
            ])
        }
        do throws(MalformedDelivery) {
            let batches = try DeliveryMessage(decoding: body).batches
            let first = batches.first
            // Members that differ between batches are shown only for a single batch.
            let only = batches.count == 1 ? first : nil
            return .members([
                "batches": .integer(batches.count),
                "devices": .integer(batches.reduce(0) { $0 + $1.devices.count }),
                "service": (first?.key.pns.rawValue).map(JSONValue.string),
                "priority": (first?.priority.rawValue).map(JSONValue.string),
                "page": only.map { .integer($0.key.page) },
                "attempt": only.map { .integer($0.key.attempt) },
                "expires": only.map { .string($0.expires.iso8601) },
                "payloadBytes": only.map { .integer($0.payload.body.count) },
                "handles": only.map { .strings(Self.handles($0.devices)) },
            ])
        } catch {
            return .members(["unreadable": .string(error.description)])
        }
    }

    /// The first few handles, which are kept shortened (``IncomingDeadLetter/keptBody``).
    private static func handles(_ devices: DeliverBatch.Devices) -> [String] {
        devices.rows.indices.prefix(Self.shownDevices).map { devices.handles.handle(at: $0).text }
    }
}
