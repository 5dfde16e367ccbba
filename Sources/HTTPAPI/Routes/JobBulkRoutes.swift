import HTTPTypes
import Hummingbird
import Intake
import PushModel
import Store
import WebServing

/// Cancels all sends that match, as far as they were there when somebody looked.
struct JobBulkRoutes: Sendable {
    let context: RouteContext

    /// The most that a request cancels, and counts behind that.
    private static let most = 1000
    /// The most pages of a list that are looked through: few may match.
    private static let looks = 20
    private static let width = 8

    var routes: [Route] { [Route(.post, "/api/jobs/cancel", body: .limited, handler: self.cancel)] }

    private func cancel(_ request: APIRequest) async throws -> Response {
        let (query, words, isDryRun) = try await self.query(request)
        if !isDryRun { try await self.context.store.confirmReads() }
        let part = try await self.part(query)
        guard !isDryRun else {
            return Self.answer(
                matched: part.ids.count + part.left,
                cancelled: 0,
                left: part.ids.count + part.left,
                part
            )
        }
        let cancelled = try await self.context.longAct(.jobCancel, user: query.user, target: words, request) {
            let stopped = try await part.ids.inParallel(Self.width) { id in
                let job = try await self.context.store.cancel(id, app: request.app)
                self.context.monitor.forget(id)
                return job.map { $0.state == .cancelling || $0.state == .cancelled } ?? false
            }
            return stopped.count { $0 }
        } result: {
            "\($0) cancelled"
        }
        return Self.answer(matched: part.ids.count + part.left, cancelled: cancelled, left: part.left, part)
    }

    private static func answer(matched: Int, cancelled: Int, left: Int, _ part: Part) -> Response {
        .json(
            .members([
                "matched": .integer(matched), "cancelled": .integer(cancelled), "left": .integer(left),
                "isComplete": .bool(part.isComplete),
            ])
        )
    }

    /// Reads what is to be cancelled.
    ///
    /// - Throws: ``Problem`` 400 where nothing is asked for: that is not everything.
    private func query(_ request: APIRequest) async throws -> (JobQuery, words: String, isDryRun: Bool) {
        try request.caller.requireOperator()
        _ = try request.query.strict(known: [])
        let members = try StrictMembers(request.json(), known: ["label", "state", "key", "user", "upTo", "dryRun"])
        func value<Value>(_ name: String, _ make: (String) throws -> Value) throws -> Value? {
            guard let text = try members.string(name) else { return nil }
            do { return try make(text) } catch let error as InvalidValue { throw Problem.invalid([error.named(name)]) }
        }
        var query = JobQuery(app: request.app, kind: .send, isUnfinished: true, limit: 1000)
        query.label = try value("label") { try JobLabel($0) }
        query.user = try value("user") { try UserName($0, request.spec.users) }
        query.key = try members.string("key")
        if let state = try members.string("state") {
            let words = Job.State.allCases.filter { !$0.isFinal }.map(\.rawValue)
            guard words.contains(state) else {
                throw members.fault("state", "must be one of \(words.joined(separator: ", "))")
            }
            query.state = Job.State(rawValue: state)
        }
        guard query.label != nil || query.state != nil || query.key != nil || query.user != nil else {
            throw members.fault("", "must have one of label, state, key and user")
        }
        let last = try members.requiredString("upTo")
        guard let id = JobID(last), try await self.context.store.job(id, app: request.app) != nil else {
            throw members.fault("upTo", "must be a job of the app: later ones stay")
        }
        query.upTo = id
        let words = Self.words(query.label, query.state, query.key)
        let target = ActQuery.OfJob.group + (words + ["up to \(id)"]).joined(separator: ", ")
        return (query, target, try members.bool("dryRun") ?? false)
    }

    /// What is asked for, as its act says it.
    private static func words(_ label: JobLabel?, _ state: Job.State?, _ key: String?) -> [String] {
        [label.map { "label \($0.text)" }, state.map { "state \($0.rawValue)" }, key.map { "key \($0)" }]
            .compactMap(\.self)
    }

    /// Of an act of cancelling all that matched, the newest send that it was for, where it asked for what a send is.
    ///
    /// - Returns: nil where it was another act, or asked for something else. Of the state that the send had then nothing is known.
    static func last(of act: NewAct, askingFor job: Job) -> JobID? {
        let group = ActQuery.OfJob.group
        guard act.kind == .jobCancel, let target = act.target, target.hasPrefix(group),
            act.user == nil || act.user == job.user
        else { return nil }
        let asked = target.dropFirst(group.count)
        for label in [nil, job.label] {
            for key in [nil, job.key] {
                for state in [nil] + Job.State.allCases {
                    let words = (Self.words(label, state, key) + ["up to "]).joined(separator: ", ")
                    if asked.hasPrefix(words) { return JobID(String(asked.dropFirst(words.count).prefix(36))) }
                }
            }
        }
        return nil
    }

    /// The sends to cancel, and how many are left behind them.
    private struct Part {
        var ids: [JobID] = []
        var left = 0
        /// Whether all that are left are counted.
        var isComplete = true
    }

    private func part(_ query: JobQuery) async throws -> Part {
        var (part, query, looks) = (Part(), query, 0)
        repeat {
            let page = try await self.context.store.jobs(query)
            // Those that are being stopped are as good as cancelled.
            let ids = page.items.filter { !$0.state.isStopped }.map(\.id)
            let room = Self.most - part.ids.count
            part.ids += ids.prefix(room)
            part.left += max(0, ids.count - room)
            query.cursor = page.cursor
            looks += 1
        } while query.cursor != nil && part.left == 0 && looks < Self.looks
        part.isComplete = query.cursor == nil
        return part
    }
}
