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
        let list = try ListQuery(request, filters: ["by", "action", "state", "since"])
        let page = try await self.context.store.acts(
            ActQuery(
                app: request.app,
                by: try Self.author(list["by"], request),
                kind: try list.choice("action", ActKind.all.map(\.rawValue), ActKind.init(rawValue:)),
                state: try list.choice("state", Act.State.allCases.map(\.rawValue), Act.State.init(rawValue:)),
                since: try list.time("since"),
                cursor: try list.cursor,
                limit: try list.limit
            )
        )
        return .page(page.items.map(Self.text), cursor: page.cursor)
    }

    /// Who did it, as entries have it: accounts in the form in which names are compared.
    private static func author(_ text: String?, _ request: APIRequest) throws -> String? {
        guard let text else { return nil }
        let parts = text.split(separator: ":", maxSplits: 1).map(String.init)
        guard parts.count == 2, ["account", "key", "host", "removed"].contains(parts[0]) else {
            throw Problem.invalid("by", "must be account:NAME, key:NAME, host:NAME or removed:DIGITS")
        }
        guard parts[0] == "account" else { return text }
        do { return try UserName(parts[1], request.spec.users).caller } catch {
            throw Problem.invalid([error.named("by")])
        }
    }

    private static func text(_ entry: Act) -> JSONValue {
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
            "state": .string(entry.state.rawValue),
            "ended": entry.ended.map { .string($0.iso8601) },
            "result": entry.result.map(JSONValue.string),
            "request": act.request.map { .string($0.description) },
        ])
    }
}
