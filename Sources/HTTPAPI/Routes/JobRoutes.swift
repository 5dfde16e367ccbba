import HTTPTypes
import Hummingbird
import Intake
import PushModel
import PushlineLogging
import Store
import WebServing

/// Jobs and their outcomes.
struct JobRoutes: Sendable {
    let context: RouteContext

    var routes: [Route] {
        [
            Route(.get, "/api/jobs", handler: self.list),
            Route(.get, "/api/jobs/{id}", handler: self.job),
            Route(.delete, "/api/jobs/{id}", handler: self.cancel),
            Route(.get, "/api/jobs/{id}/deliveries", handler: self.deliveries),
        ]
    }

    private func list(_ request: APIRequest) async throws -> Response {
        let caller = try request.caller
        let list = try ListQuery(
            request,
            filters: ["state", "service", "user", "key", "since", "kind", "label", "unfinished", "failures"]
        )
        var query = JobQuery(
            app: request.app,
            state: try list.choice("state", Job.State.allCases.map(\.rawValue), Job.State.init(rawValue:)),
            pns: try list.service,
            user: try list.user("user"),
            key: try list.key("key"),
            kind: try list.choice("kind", JobKind.allCases.map(\.rawValue), JobKind.init(rawValue:)),
            label: try list.label,
            isUnfinished: try list.flag("unfinished") ?? false,
            hasFailures: try list.flag("failures") ?? false,
            since: try list.time("since"),
            cursor: try list.cursor,
            limit: try list.limit
        )
        if !caller.seesAll {
            if query.user.map({ $0 != caller.user }) == true || query.key.map({ $0 != caller.key }) == true {
                throw Problem.forbidden("only an operator may list the jobs of others")
            }
            query.user = caller.user
            query.key = caller.key
        }
        let page = try await self.context.store.jobs(query)
        return .page(page.items.map { .written(JobText(job: $0, prefix: request.prefix).bytes) }, cursor: page.cursor)
    }

    private func job(_ request: APIRequest) async throws -> Response {
        _ = try request.query.strict(known: [])
        let seen = try await self.context.monitor.snapshot(of: try Self.id(request), app: request.app)
        guard let seen, try request.caller.maySee(seen.job) else { throw Self.missing }
        LogContext.add(job: seen.job.id)
        var text = seen.text(prefix: request.prefix)
        if request.spec.azureHub != nil, seen.job.work.kind == .send {
            text.calls = try await self.context.store.hubCalls(
                of: seen.job.id,
                app: request.app,
                limit: HubCallsText.most + 1
            )
        }
        return text.response(status: .ok)
    }

    /// Cancels a send that has not finished.
    private func cancel(_ request: APIRequest) async throws -> Response {
        _ = try request.query.strict(known: [])
        // Where it says that there is no such job, the job goes on.
        try await self.context.store.confirmReads()
        let job = try await self.visible(request)
        guard job.work.kind == .send else {
            throw Problem(.conflict, "only sends can be cancelled; this job changes a registration")
        }
        guard !job.state.isFinal else { throw Self.ended(job.state) }
        let stopped = try await self.context.act(.jobCancel, target: "\(job.id)", request) {
            guard let stopped = try await self.context.store.cancel(job.id, app: request.app) else {
                throw Self.missing
            }
            self.context.monitor.forget(job.id)
            // It may have ended between the two looks.
            guard !stopped.state.isFinal || stopped.state == .cancelled else { throw Self.ended(stopped.state) }
            return stopped
        }
        var answer = JobAnswer(stopped, JobWait(request, for: stopped.work, self.context.configuration))
        if !answer.hasCome, answer.wait.time > .zero {
            let found = try await self.context.intake.find(
                stopped.id,
                app: request.app,
                until: answer.wait.event,
                within: answer.wait.time
            )
            answer = found.map { JobAnswer($0, answer.wait) } ?? answer
        }
        return answer.response(isDone: answer.hasCome, prefix: request.prefix)
    }

    private func deliveries(_ request: APIRequest) async throws -> Response {
        let list = try ListQuery(request, filters: ["outcome", "service"])
        let words = ["accepted"] + FailureClass.allCases.map(\.rawValue)
        let query = DeliveryQuery(
            job: JobID(high: 0, low: 0),
            app: request.app,
            outcome: try list.choice("outcome", words) { word in
                word == "accepted" ? .accepted : FailureClass(rawValue: word).map(DeliveryRecord.Outcome.failed)
            },
            pns: try list.service,
            cursor: try list.cursor,
            limit: try list.limit
        )
        var found = query
        found.job = try await self.visible(request).id
        let page = try await self.context.store.deliveries(found)
        return .page(page.items.map(Self.text), cursor: page.cursor)
    }

    private static func ended(_ state: Job.State) -> Problem {
        Problem(.conflict, "the job has already ended: it is \(state.rawValue)")
    }

    static let missing = Problem.notFound("no such job")

    /// The job, if the caller may see it.
    ///
    /// Jobs of others are 404, so that nobody learns of them.
    private func visible(_ request: APIRequest) async throws -> Job {
        guard let job = try await self.context.store.job(try Self.id(request), app: request.app),
            try request.caller.maySee(job)
        else { throw Self.missing }
        LogContext.add(job: job.id)
        return job
    }

    static func id(_ request: APIRequest) throws -> JobID {
        guard let id = request.parameters["id"].flatMap(JobID.init) else { throw Self.missing }
        return id
    }

    static func text(_ record: DeliveryRecord) -> JSONValue {
        let outcome =
            switch record.outcome {
            case .accepted: "accepted"
            case .failed(let failure): failure.rawValue
            }
        return .members([
            "service": .string(record.pns.rawValue),
            "registration": record.registration.map { .string($0.text) },
            "user": record.user.map { .string($0.name) },
            "place": record.place.map { .integer($0) },
            "reference": record.reference.map { .string($0) },
            "outcome": .string(outcome),
            "status": record.status == 0 ? nil : .integer(record.status),
            "reason": record.reason.isEmpty ? nil : .string(record.reason),
            "at": .string(record.at.iso8601),
            "notification": .string(record.notificationID.description),
        ])
    }
}
