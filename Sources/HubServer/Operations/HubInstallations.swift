import HTTPTypes
import HubWire
import Hummingbird
import Intake
import PushModel
import Store
import WebServing

/// Installations on the wire: each is the registration that has the installation's tag.
struct HubInstallations: Sendable {
    let changes: RegistrationChanges
    let store: any ResultStore

    func put(_ id: String, _ request: HubRequest) async throws -> Response {
        _ = try await self.save(WireInstallation(reading: request.body, id: id), request)
        return Self.written(id, request)
    }

    func read(_ id: String, _ request: HubRequest) async throws -> Response {
        guard let wire = Self.wire(try await self.find(id, request)) else { throw Self.missing }
        // Its type is that of everything else; the original's too.
        return .wire(WireNames.xml, wire.json.bytes)
    }

    func patch(_ id: String, _ request: HubRequest) async throws -> Response {
        let patch = try InstallationPatch(reading: request.body)
        for attempt in 1...Self.mostPatches {
            if try await self.apply(patch, to: id, request) { return Self.written(id, request) }
            // Another change came between: this one is made again, of what there is now.
            if attempt < Self.mostPatches {
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...(20 << attempt))))
            }
        }
        throw Problem.later(
            .serviceUnavailable,
            "the installation is being changed by others; repeating the change is safe",
            seconds: 1
        )
    }

    /// The answer to a change that is made.
    private static func written(_ id: String, _ request: HubRequest) -> Response {
        var response = Response.wire()
        response.headers[.contentLocation] = request.address("installations", id)
        return response
    }

    /// So often a change is tried where others come between.
    private static let mostPatches = 6

    /// - Returns: Whether it is done: false where another change came between.
    private func apply(_ patch: InstallationPatch, to id: String, _ request: HubRequest) async throws -> Bool {
        let found = try await self.find(id, request)
        guard var wire = Self.wire(found) else { throw Self.missing }
        // In one step, so that nothing is read before; but tags are those of the templates too.
        if found.count == 1, let tags = patch.tagsAlone, let change = try Self.change(tags, request) {
            switch try await self.changes.make(.patch(found[0].id, change), request) {
            case .done: return true
            case .notFound, .gone: throw Self.missing
            case .superseded, .issued, .channels, .refused, .unknown: return false
            }
        }
        try patch.apply(to: &wire)
        return try await self.save(wire, from: found, request)
    }

    /// 204 whether it was there or not.
    func delete(_ id: String, _ request: HubRequest) async throws -> Response {
        // What is not found is not deleted, and 204 all the same.
        try await self.store.confirmReads()
        for found in try await self.find(id, request) { _ = try await self.changes.make(.delete(found.id), request) }
        return Response(status: .noContent)
    }

    /// A page of all registrations, of which those of installations are shown: beyond the original.
    func list(_ request: HubRequest) async throws -> Response {
        let limit = try RegistrationOperations.limit(request)
        var query = RegistrationQuery(app: request.app, state: .live, limit: limit)
        query.cursor = request.target.query["continuationtoken"].flatMap { $0.isEmpty ? nil : $0 }
        let page = try await self.store.registrations(query)
        var installations: [JSONValue] = []
        for found in page.items {
            guard let id = found.tags.lazy.compactMap(WireTags.installation(of:)).first,
                let wire = Self.wire([found] + (try await self.find(id, request)).filter { $0.template != nil })
            else { continue }
            installations.append(wire.json)
        }
        var response = Response.wire(
            "application/json; charset=utf-8",
            JSONValue.array(installations).bytes
        )
        response.headers[.continuation] = page.cursor
        return response
    }

    private static let missing = Problem(.notFound, "Installation not found")

    /// Its live registrations: one for native notifications, and one for each template.
    private func find(_ id: String, _ request: HubRequest) async throws -> [Registration] {
        let tag = try Self.tag(id)
        let limit = RegistrationOperations.maximumPage
        var query = RegistrationQuery(app: request.app, tag: tag, state: .live, limit: limit)
        query.kinds = RegistrationKind.allCases
        return try await self.store.registrations(query).items
    }

    private static func tag(_ id: String) throws(InvalidValue) -> Tag {
        do { return try WireTags.tag(ofInstallation: id) } catch { throw error.named("installationId") }
    }

    /// Makes it so.
    ///
    /// - Parameters:
    ///   - wire: The installation.
    ///   - found: What it was made of; nil = it replaces whatever there is.
    ///   - request: The request.
    /// - Returns: Whether it is done: false where another change came between.
    /// - Throws: ``Problem``, or `InvalidValue` that names the member.
    private func save(
        _ wire: WireInstallation,
        from found: [Registration]? = nil,
        _ request: HubRequest
    ) async throws -> Bool {
        let kept = found?.flatMap(\.tags) ?? []
        guard let pns = wire.platform.service, pns.isInService else {
            throw Problem(
                .badRequest,
                "platform: \(wire.platform.installationName) cannot be sent to yet"
            )
        }
        for (member, isThere) in [
            ("pushVariables", !wire.pushVariables.isEmpty), ("secondaryTiles", wire.hasSecondaryTiles),
        ] where isThere {
            throw Problem(.badRequest, "\(member): is not kept; leave it out")
        }
        guard wire.templates.count <= DeviceTemplate.maximumCount else {
            throw Problem(
                .badRequest,
                "templates: an installation has at most \(DeviceTemplate.maximumCount)"
            )
        }
        let handle = try Self.handle(of: wire, pns, request)
        let written = try Self.written(wire, handle)
        let user = try Self.user(wire.userID, request)
        let expires = try await self.end(of: wire, found, request)
        let own = try Self.tags(wire.tags, request, kept: kept)
        let system = try Self.tag(wire.id)
        func part(
            _ tags: [Tag],
            _ template: DeviceTemplate? = nil
        ) throws -> RegisterRequest.Installation.Part {
            let wanted = WantedRegistration(
                pns: pns,
                handle: handle,
                // The channel is read of the first part alone.
                written: template == nil ? written : WrittenDevice(platform: written?.platform),
                tags: tags + [system],
                user: user,
                template: template,
                expires: expires
            )
            let upsert = try RegistrationChanges.upsert(wanted, request)
            return .init(candidate: RegistrationChanges.newID(), upsert: upsert)
        }
        var parts = [try part(own)]
        for template in wire.templates {
            do {
                let content = try DeviceTemplate(template.alone, name: template.name, for: wire.platform, pns)
                // A name that can be a tag is one, so that a template is reached by it.
                let name = (try? Tag(template.name, request.spec.users)).map { [$0.name] } ?? []
                let tags = try Self.tags(wire.tags + template.tags + name, request, kept: kept)
                parts.append(try part(tags, content))
            } catch let error as InvalidValue {
                throw error.named("templates.\(template.name.prefix(40))")
            }
        }
        let base = found?.map(RegisterRequest.Installation.Base.init)
        switch try await self.changes.make(.install(.init(tag: system, parts: parts, base: base)), request) {
        case .gone: throw Problem(.gone, "the installation was deleted meanwhile; put it again")
        // Of what replaces whatever there is, a later change has done so already.
        case .superseded: return found == nil
        case .done, .issued, .notFound, .channels, .refused, .unknown: return true
        }
    }

    /// When it is to end; see ``RegistrationChanges/end(_:_:of:isPatch:_:)``.
    private func end(
        of wire: WireInstallation,
        _ found: [Registration]?,
        _ request: HubRequest
    ) async throws -> Timestamp? {
        var stored = found ?? []
        // Only an end that is a lifetime's is of interest.
        if found == nil, wire.expirationTime != nil, request.spec.registrationLifetimeDays != nil {
            stored = try await self.find(wire.id, request)
        }
        return try RegistrationChanges.end(
            wire.expirationTime,
            "expirationTime",
            of: stored.first { $0.template == nil },
            isPatch: found != nil,
            request.spec
        )
    }

    /// The tags that a client gives; what the wire shows of a registration comes back with them.
    private static func tags(_ names: [String], _ request: HubRequest, kept: [Tag]) throws(InvalidValue) -> [Tag] {
        let tags = try WireTags.tags(names.filter { !$0.hasPrefix("$") }, request.spec.users)
        try request.check(tags, kept: kept)
        return tags
    }

    private static func handle(
        of wire: WireInstallation,
        _ pns: PushService,
        _ request: HubRequest
    ) throws(InvalidValue) -> Handle {
        do { return try request.spec.handle(wire.platform.handleText(ofChannel: wire.pushChannel), of: pns) } catch {
            throw error.named("pushChannel")
        }
    }

    /// What is kept of the client's own words: it compares what it reads with what it put.
    private static func written(_ wire: WireInstallation, _ handle: Handle) throws(InvalidValue) -> WrittenDevice? {
        let channel = try wire.platform.channel(of: handle) == wire.pushChannel ? nil : wire.pushChannel
        guard (channel?.utf8.count ?? 0) <= WrittenDevice.longestChannel else {
            throw InvalidValue(
                member: "pushChannel",
                "has more than \(WrittenDevice.longestChannel) bytes; leave out what is not of the subscription"
            )
        }
        return WrittenDevice(
            platform: wire.platformName ?? wire.platform.written,
            channel: channel,
            isObject: wire.isChannelObject
        )
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
        guard TagPolicy.areFree(added + removed), !added.isEmpty || !removed.isEmpty else { return nil }
        return RegisterRequest.Patch(add: added, remove: removed, mostTags: WireTags.maximumTags)
    }

    /// The installation of its registrations; nil if none of them is for native notifications.
    private static func wire(_ registrations: [Registration]) -> WireInstallation? {
        guard let native = registrations.first(where: { $0.template == nil }),
            let id = native.tags.lazy.compactMap(WireTags.installation(of:)).first,
            let platform = native.platform, let handle = native.handle,
            // What was stored can be shown: its parts were checked then.
            let channel = try? native.written?.channel ?? platform.channel(of: handle)
        else { return nil }
        var wire = WireInstallation(id: id, platform: platform, pushChannel: channel)
        wire.platformName = native.written?.platform.flatMap { $0 == platform.installationName ? nil : $0 }
        wire.isChannelObject = native.written?.isObject == true
        wire.userID = native.user?.name
        wire.tags = native.tags.filter { WireTags.installation(of: $0) == nil && $0.owned != .user }.map(\.name)
        wire.expirationTime = native.expires?.iso8601
        wire.templates = registrations.compactMap { registration in
            registration.template.map { template in
                .init(template, tags: registration.tags.filter { !native.tags.contains($0) }.map(\.name))
            }
        }.sorted { $0.name < $1.name }
        return wire
    }
}
