import HTTPAPI
import HTTPTypes
import HubWire
import Hummingbird
import PushModel
import Store

/// Installations on the wire: each is the registration that has the installation's tag.
struct HubInstallations: Sendable {
    let changes: RegistrationChanges
    let store: any ResultStore

    func put(_ id: String, _ request: HubRequest) async throws -> Response {
        try await self.save(WireInstallation(reading: request.body, id: id), request)
    }

    func read(_ id: String, _ request: HubRequest) async throws -> Response {
        guard let found = try await self.find(id, request).first, let wire = Self.wire(found) else {
            throw Self.missing
        }
        // Its type is that of everything else; the original's too.
        return .wire(WireNames.xml, wire.json.bytes)
    }

    func patch(_ id: String, _ request: HubRequest) async throws -> Response {
        let patch = try InstallationPatch(reading: request.body)
        guard let found = try await self.find(id, request).first, var wire = Self.wire(found) else {
            throw Self.missing
        }
        // In one step, so that two of them at a time lose nothing.
        if let tags = patch.tagsAlone, let change = try Self.change(tags, request) {
            guard try await self.changes.make(.patch(found.id, change), request) != .notFound else {
                throw Self.missing
            }
            return .wire()
        }
        try patch.apply(to: &wire)
        return try await self.save(wire, kept: found.tags, request)
    }

    /// 204 whether it was there or not.
    func delete(_ id: String, _ request: HubRequest) async throws -> Response {
        for found in try await self.find(id, request) { _ = try await self.changes.make(.delete(found.id), request) }
        return Response(status: .noContent)
    }

    /// A page of all registrations, of which those of installations are shown: beyond the original.
    func list(_ request: HubRequest) async throws -> Response {
        var query = RegistrationQuery(app: request.app, state: .live, limit: try HubRegistrations.limit(request))
        query.cursor = request.target.query["continuationtoken"].flatMap { $0.isEmpty ? nil : $0 }
        let page = try await self.store.registrations(query)
        var response = Response.wire(
            "application/json; charset=utf-8",
            JSONValue.array(page.items.compactMap { Self.wire($0)?.json }).bytes
        )
        response.headers[.continuation] = page.cursor
        return response
    }

    private static let missing = WireHost.Refusal(.notFound, "Installation not found")

    /// Its live registrations: one, but where two first changes of it came at the same moment.
    private func find(_ id: String, _ request: HubRequest) async throws -> [Registration] {
        let tag = try Self.tag(id)
        let query = RegistrationQuery(app: request.app, tag: tag, state: .live, limit: HubRegistrations.maximumPage)
        return try await self.store.registrations(query).items
    }

    private static func tag(_ id: String) throws(InvalidValue) -> Tag {
        do { return try WireTags.tag(ofInstallation: id) } catch { throw error.named("installationId") }
    }

    private func save(_ wire: WireInstallation, kept: [Tag] = [], _ request: HubRequest) async throws -> Response {
        guard let pns = wire.platform.service else {
            throw WireHost.Refusal(
                .badRequest,
                "platform: \(wire.platform.installationName) cannot be sent to yet"
            )
        }
        for (member, isThere) in [
            ("templates", !wire.templates.isEmpty), ("pushVariables", !wire.pushVariables.isEmpty),
            ("secondaryTiles", wire.hasSecondaryTiles),
        ] where isThere {
            throw WireHost.Refusal(.badRequest, "\(member): is not kept yet; leave it out")
        }
        let user = try Self.user(wire.userID, request)
        // What the wire shows of a registration comes back with it.
        let plain = wire.tags.filter { !$0.hasPrefix("$") }
        let own = try WireTags.tags(plain, request.spec.users)
        try request.check(own, kept: kept)
        let tags = try own + [Self.tag(wire.id)]
        let upsert = try RegistrationChanges.upsert(
            pns: pns,
            handle: wire.pushChannel,
            tags: tags,
            user: user,
            request
        )
        let known = try await self.find(wire.id, request)
        if let first = known.first {
            try await self.changes.put(first.id, upsert, request)
        } else {
            _ = try await self.changes.create(upsert, request)
        }
        for other in known.dropFirst() { _ = try await self.changes.make(.delete(other.id), request) }
        return .wire()
    }

    private static func user(_ name: String?, _ request: HubRequest) throws(InvalidValue) -> UserName? {
        guard let name else { return nil }
        do { return try UserName(name, request.spec.users) } catch { throw error.named("userId") }
    }

    /// The change of tags alone; nil where one of them names a user.
    private static func change(
        _ tags: (added: [String], removed: [String]),
        _ request: HubRequest
    ) throws(InvalidValue) -> RegisterRequest.Patch? {
        let added = try WireTags.tags(tags.added, request.spec.users)
        try request.check(added)
        let removed = try WireTags.tags(tags.removed, request.spec.users)
        guard (added + removed).allSatisfy({ $0.owned == nil }), !added.isEmpty || !removed.isEmpty else { return nil }
        return RegisterRequest.Patch(add: added, remove: removed)
    }

    /// The installation of a registration; nil where it is none.
    private static func wire(_ registration: Registration) -> WireInstallation? {
        guard let id = registration.tags.lazy.compactMap(WireTags.installation(of:)).first,
            let platform = registration.pns.flatMap(WirePlatform.init), let handle = registration.handle
        else { return nil }
        var wire = WireInstallation(id: id, platform: platform, pushChannel: handle.text)
        wire.userID = registration.user?.name
        wire.tags = registration.tags.filter { WireTags.installation(of: $0) == nil && $0.owned != .user }.map(\.name)
        wire.expirationTime = registration.expires?.iso8601
        return wire
    }
}
