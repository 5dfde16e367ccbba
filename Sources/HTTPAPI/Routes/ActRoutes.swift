import HTTPTypes
import Hummingbird
import PushModel
import Store
import WebServing

/// What the app's operators have done, for its operators.
struct ActRoutes: Sendable {
    let context: RouteContext

    var routes: [Route] { [Route(.get, "/api/audit", handler: self.list)] }

    private func list(_ request: APIRequest) async throws -> Response {
        try request.caller.requireSeeingAll()
        let list = try ListQuery(request, filters: ["by", "action", "state", "since", "job"])
        let send = try await self.send(list["job"], request)
        let page = try await self.context.store.acts(
            ActQuery(
                app: request.app,
                by: try Self.authors(list["by"], request),
                kind: try list.choice("action", ActKind.all.map(\.rawValue), ActKind.init(rawValue:)),
                state: try list.choice("state", Act.State.allCases.map(\.rawValue), Act.State.init(rawValue:)),
                since: try list.time("since"),
                job: send?.query,
                cursor: try list.cursor,
                limit: try list.limit
            )
        )
        var items = page.items
        if let send { items = try await self.entries(items, of: send, request.app) }
        let jobs = try await self.jobs(Set(items.compactMap(Self.job(of:))), request.app)
        return .page(items.map { Self.text($0, job: Self.job(of: $0).flatMap { jobs[$0] }) }, cursor: page.cursor)
    }

    /// Who did it, as entries have it: accounts in the form in which names are compared.
    ///
    /// A bare name is that of an account, of a key or of a host's user.
    private static func authors(_ text: String?, _ request: APIRequest) throws -> [String] {
        guard let text else { return [] }
        func account(_ name: String) throws(InvalidValue) -> String { try UserName(name, request.spec.users).caller }
        let kind = ActQuery.kind(of: text)
        let name = kind.map { String(text.dropFirst($0.count + 1)) } ?? text
        guard !name.isEmpty else {
            throw Problem.invalid("by", "must be a name, or account:NAME, key:NAME, host:NAME or removed:DIGITS")
        }
        guard let kind else { return [try? account(name), "key:\(name)", "host:\(name)"].compactMap(\.self) }
        guard kind == "account" else { return [text] }
        do { return [try account(name)] } catch { throw Problem.invalid([error.named("by")]) }
    }

    // MARK: Sends

    /// A send whose acts are asked for.
    private struct Send {
        let id: JobID
        /// nil = it is not there any more, and has those acts alone that name it.
        let job: Job?

        var query: ActQuery.OfJob {
            let ended: Timestamp? =
                switch self.job?.state {
                case .cancelled: self.job?.finished
                case .cancelling: .now
                default: nil
                }
            return ActQuery.OfJob(id: self.id, finished: ended)
        }
    }

    /// Those of them that were done to a send: what was done to all that matched is one only if the send was there already.
    private func entries(_ entries: [Act], of send: Send, _ app: AppID) async throws -> [Act] {
        func last(_ entry: Act) -> JobID? { send.job.flatMap { JobBulkRoutes.last(of: entry.act, askingFor: $0) } }
        let newest = try await self.jobs(Set(entries.compactMap(last)), app)
        return entries.filter { entry in
            if entry.act.target == "\(send.id)" || Self.job(of: entry) == send.id { return true }
            guard let job = send.job, let newest = last(entry).flatMap({ newest[$0] }) else { return false }
            return job.sequence <= newest.sequence
        }
    }

    private func send(_ text: String?, _ request: APIRequest) async throws -> Send? {
        guard let text else { return nil }
        guard let id = JobID(text) else { throw Problem.invalid("job", "must be the id of a job") }
        return Send(id: id, job: try await self.context.store.job(id, app: request.app))
    }

    /// The send that an entry names alone.
    private static func job(of entry: Act) -> JobID? {
        switch entry.act.kind {
        case .jobCancel: entry.act.target.flatMap { JobID($0) }
        case .send: entry.result.flatMap { $0.hasPrefix("job ") ? JobID(String($0.dropFirst(4))) : nil }
        default: nil
        }
    }

    /// Those of them that are there still: an entry itself holds nothing of theirs.
    private func jobs(_ ids: Set<JobID>, _ app: AppID) async throws -> [JobID: Job] {
        guard !ids.isEmpty else { return [:] }
        let found = try await self.context.store.jobs(.ids(Array(ids), app: app)).items
        return Dictionary(found.map { ($0.id, $0) }) { first, _ in first }
    }

    private static func text(_ entry: Act, job: Job?) -> JSONValue {
        let act = entry.act
        return .members([
            "id": .string(String(entry.id)),
            "at": .string(entry.at.iso8601),
            "by": .string(act.by),
            "via": .string(act.via.rawValue),
            "from": .string(act.origin),
            "action": .string(act.kind.rawValue),
            "user": act.user.map { .string($0.name) },
            "target": act.target.map(JSONValue.string),
            "job": job.map {
                .members(["id": .string($0.id.description), "label": $0.label.map { .string($0.text) }])
            },
            "state": .string(entry.state.rawValue),
            "ended": entry.ended.map { .string($0.iso8601) },
            "result": entry.result.map(JSONValue.string),
            "request": act.request.map { .string($0.description) },
        ])
    }
}
