import Broker
import HTTPTypes
import Hummingbird
import Logging
import PushModel
import Store
import WebServing

/// The queues with an app's work in them, for its operators: how full they are, and pausing.
struct QueueRoutes: Sendable {
    let context: RouteContext

    var routes: [Route] {
        [
            Route(.get, "/api/queues", handler: self.list),
            Route(.post, "/api/queues/{name}/pause", body: .limited, handler: self.pause),
            Route(.post, "/api/queues/{name}/resume", body: .limited, handler: self.resume),
        ]
    }

    private func list(_ request: APIRequest) async throws -> Response {
        try request.caller.requireSeeingAll()
        _ = try request.query.strict(known: [])
        let pauses = try await self.context.store.pauses()
        let load = try await self.context.store.queues(of: request.app)
        let items = WorkQueue.allCases.map { queue in
            Self.text(queue, load: load[queue], pauses: pauses, app: request.app)
        }
        // How deep the broker's queues are is the host operator's to know: they are of all apps.
        let fault = await self.context.broker.status.blockedReason
        return .json(.members(["items": .array(items), "brokerFault": fault.map(JSONValue.string)]))
    }

    private func pause(_ request: APIRequest) async throws -> Response {
        let queue = try Self.queue(request)
        let caller = try request.caller.description
        _ = try await self.context.act(.queuePause, target: "\(queue)", request) {
            try await self.context.store.apply(.pause(.begin(queue, app: request.app, by: caller)))
        }
        self.log("An operator paused a queue", queue, request)
        return try await self.answer(queue, request)
    }

    private func resume(_ request: APIRequest) async throws -> Response {
        let queue = try Self.queue(request)
        let isResumed = try await self.context.act(.queueResume, target: "\(queue)", request) {
            try await self.context.store.apply(.pause(.end(queue, app: request.app)))
        }
        if isResumed { self.log("An operator resumed a queue", queue, request) }
        guard try await !self.context.store.pauses().contains(where: { $0.queue == queue && $0.app == nil }) else {
            throw Problem(
                .conflict,
                "\(isResumed ? "the app's own pause is over, but " : "")it is paused for all apps: "
                    + "pushline queues resume \(queue) --all-apps on the server's host"
            )
        }
        return try await self.answer(queue, request)
    }

    private func answer(_ queue: WorkQueue, _ request: APIRequest) async throws -> Response {
        let pauses = try await self.context.store.pauses()
        let load = try await self.context.store.queues(of: request.app)
        return .json(Self.text(queue, load: load[queue], pauses: pauses, app: request.app))
    }

    private func log(_ message: Logger.Message, _ queue: WorkQueue, _ request: APIRequest) {
        var metadata: Logger.Metadata = ["app": "\(request.app)", "queue": "\(queue)"]
        metadata["caller"] = request.identity.map { "\($0.logged)" }
        self.context.logger.info(message, metadata: metadata)
    }

    private static func queue(_ request: APIRequest) throws -> WorkQueue {
        try request.caller.requireOperator()
        _ = try request.query.strict(known: [])
        guard let queue = request.parameters["name"].flatMap(WorkQueue.init) else {
            let names = WorkQueue.allCases.map(\.description).joined(separator: ", ")
            throw Problem.notFound("no such queue: there are \(names)")
        }
        // The route takes no members, so a body shows a misunderstanding.
        if !request.body.isEmpty { _ = try StrictMembers(request.json(), known: []) }
        return queue
    }

    static func text(
        _ queue: WorkQueue,
        load: QueueLoad?,
        pauses: [Pause],
        app: AppID
    ) -> JSONValue {
        let load = load ?? QueueLoad()
        let covering = pauses.filter { $0.covers(queue, app: app) }
        var isDelivering = false
        if case .deliver = queue { isDelivering = true }
        return .members([
            "name": .string(queue.description),
            "paused": .bool(!covering.isEmpty),
            "pauses": .array(
                covering.map { pause in
                    .members([
                        "allApps": .bool(pause.app == nil),
                        // App operators do not see the host operator's name.
                        "by": pause.app == nil ? nil : .string(pause.by),
                        "since": .string(pause.since.iso8601),
                    ])
                }
            ),
            "waiting": .integer(load.waiting),
            "oldestSeconds": load.members > 0 ? .integer(Int(load.oldest.components.seconds)) : nil,
            "open": isDelivering ? .integer(load.open) : nil,
            "deferred": isDelivering ? .integer(load.deferred) : nil,
            "delayed": load.delay.map { delay in
                .members(["seconds": .integer(Int(delay.age.components.seconds)), "reason": .string(delay.reason)])
            },
        ])
    }
}
