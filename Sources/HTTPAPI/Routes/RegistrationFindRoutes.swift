import HTTPTypes
import Hummingbird
import PushModel
import Store
import WebServing

/// Whose a device is, by whatever somebody has of it: a handle, an id, the name of its user, or a tag.
///
/// It is asked in a body, for a handle in an address is in the logs of every proxy on its way.
struct RegistrationFindRoutes: Sendable {
    let context: RouteContext

    /// The most registrations that are shown of each kind; a list of the user's or the tag's has the others.
    private static let most = 50

    var routes: [Route] {
        [
            Route(
                .post,
                "/api/registrations/find",
                body: .limited,
                embeddedOnly: RegistrationRoutes.reading,
                isForViewers: true,
                handler: self.find
            )
        ]
    }

    private func find(_ request: APIRequest) async throws -> Response {
        let caller = try request.caller
        guard caller.actsForApp || caller.seesAll else {
            throw Problem.forbidden("only a backend's key or an operator may look for the registrations of others")
        }
        _ = try request.query.strict(known: [])
        let members = try StrictMembers(request.json(), known: ["what"])
        let what = try members.requiredString("what")
        guard (1...Handle.maximumLength).contains(what.utf8.count) else {
            throw members.fault("what", "must have 1 to \(Handle.maximumLength) bytes")
        }
        var found: [JSONValue] = []
        for (kind, query) in Self.queries(what, request) {
            let page = try await self.context.store.registrations(query)
            guard !page.items.isEmpty else { continue }
            found.append(
                .members([
                    "by": .string(kind), "items": .array(page.items.map(RegistrationRoutes.text)),
                    "isComplete": .bool(page.cursor == nil),
                ])
            )
        }
        return .json(.members(["found": .array(found)]))
    }

    /// What it may be, each with the list of those that it is then.
    private static func queries(_ what: String, _ request: APIRequest) -> [(String, RegistrationQuery)] {
        var query = RegistrationQuery(app: request.app, limit: Self.most)
        query.handles = Handle.lookupForms(of: what)
        var queries = [("handle", query)]
        query.handles = nil
        if let id = RegistrationID(what) {
            query.id = id
            queries.append(("id", query))
            query.id = nil
        }
        if let user = try? UserName(what, request.spec.users) {
            query.user = user
            queries.append(("user", query))
            query.user = nil
        }
        if let tag = try? Tag(what, request.spec.users) {
            query.tag = tag
            queries.append(("tag", query))
        }
        return queries
    }
}
