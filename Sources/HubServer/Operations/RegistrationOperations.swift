import Crypto
import HTTPTypes
import HubWire
import Hummingbird
import PushModel
import Store
import WebServing

/// Registrations on the wire.
struct RegistrationOperations: Sendable {
    let changes: RegistrationChanges
    let store: any ResultStore

    /// The most registrations of a page.
    static let maximumPage = 100

    func createID(_ request: HubRequest) -> Response {
        var response = Response.wire(WireNames.xml, [], .created)
        response.headers[.location] = request.address("registrationids", RegistrationChanges.newID().text)
        return response
    }

    func create(_ request: HubRequest) async throws -> Response {
        let id = try await self.changes.create(try self.upsert(request), request)
        var response = try await self.entry(id.text, never: WireTime.never, request)
        response.headers[.contentLocation] = request.address("registrations", id.text)
        return response
    }

    func put(_ text: String, _ request: HubRequest) async throws -> Response {
        guard let id = RegistrationID(text) else {
            throw Problem(.badRequest, "an id must have 1 to 128 letters, digits and - _ . ~")
        }
        if request.headers[.ifMatch] != nil {
            try Self.check(request.headers[.ifMatch], try await self.changes.live(text, request))
        }
        // Only an end that is a lifetime's is of interest.
        let stored =
            request.spec.registrationLifetimeDays == nil
            ? nil : try await self.store.registration(id, app: request.app)
        let upsert = try self.upsert(request, of: stored)
        try await self.changes.put(id, upsert, request)
        return try await self.entry(text, never: WireTime.never, request)
    }

    func read(_ id: String, _ request: HubRequest) async throws -> Response {
        try await self.entry(id, never: WireTime.neverWhenRead, request)
    }

    func delete(_ id: String, _ request: HubRequest) async throws -> Response {
        let found = try await self.changes.live(id, request)
        try Self.check(request.headers[.ifMatch], found)
        _ = try await self.changes.make(.delete(found.id), request)
        return .wire()
    }

    /// All of them, or those of one tag or one handle.
    func list(_ request: HubRequest, tag: String? = nil) async throws -> Response {
        var query = RegistrationQuery(app: request.app, state: .live, limit: try Self.limit(request))
        query.kinds = RegistrationKind.allCases
        if let tag { query.tag = try Self.tag(tag, request) }
        if let filter = request.target.query["$filter"] {
            query.handles = try HandleFilter(filter).handles
        } else {
            try HubGate.check(.manage, of: request.rule)
        }
        query.cursor = request.target.query["continuationtoken"].flatMap { $0.isEmpty ? nil : $0 }
        let page = try await self.store.registrations(query)
        let place = tag.map { request.address("tags", $0, "registrations") } ?? request.address("registrations")
        let next = page.cursor.map { "\(place)&$top=\(query.limit)&continuationtoken=\(PercentCoding.encode($0))" }
        let feed = WireFeed(title: "Registrations", address: place, next: next, updated: .now)
        let entries = page.items.compactMap { found in
            Self.wire(found, never: WireTime.neverWhenRead).map { ($0, Self.place(found, request)) }
        }
        var response = Response.wire(WireNames.feed, feed.bytes(entries))
        response.headers[.continuation] = page.cursor
        return response
    }

    private static func tag(_ text: String, _ request: HubRequest) throws(InvalidValue) -> Tag {
        do { return try WireTags.tag(text, request.spec.users) } catch { throw error.named("tag") }
    }

    // MARK: Bodies

    /// What the body wants a registration to be, of which there may be one.
    private func upsert(_ request: HubRequest, of stored: Registration? = nil) throws -> RegisterRequest.Upsert {
        let wire = try WireRegistration(reading: request.body)
        guard let pns = wire.platform.service, pns.isInService else {
            throw Problem(
                .badRequest,
                "\(wire.descriptionName): the platform \(wire.platform.rawValue) cannot be sent to yet"
            )
        }
        for (member, text) in [("PushVariables", wire.pushVariables), ("SecondaryTileName", wire.secondaryTileName)]
        where text?.isEmpty == false {
            throw Problem(.badRequest, "\(member): is not kept; leave it out")
        }
        let template = try wire.template.map { template throws(InvalidValue) in
            try DeviceTemplate(template, name: template.name ?? "", for: wire.platform, pns)
        }
        let tags = try WireTags.tags(wire.tags, request.spec.users)
        try request.check(tags)
        let wanted = WantedRegistration(
            pns: pns,
            handle: try Self.handle(of: wire, pns, request),
            written: WrittenDevice(platform: wire.platform.written),
            tags: tags,
            template: template,
            expires: try RegistrationChanges.end(wire.expirationTime, "ExpirationTime", of: stored, request.spec)
        )
        return try RegistrationChanges.upsert(wanted, request)
    }

    private static func handle(
        of wire: WireRegistration,
        _ pns: PushService,
        _ request: HubRequest
    ) throws(InvalidValue) -> Handle {
        do { return try request.spec.handle(wire.platform.handleText(of: wire.handle), of: pns) } catch {
            throw error.named("handle")
        }
    }

    /// A registration alone; `never`: how one that has no end says so.
    private func entry(_ id: String, never: String, _ request: HubRequest) async throws -> Response {
        let found = try await self.changes.live(id, request)
        guard let wire = Self.wire(found, never: never) else { throw Problem(.notFound, "") }
        var response = Response.wire(WireNames.entry, wire.entry(Self.place(found, request)))
        response.headers[.eTag] = "W/\"\(Self.etag(found))\""
        return response
    }

    /// A registration as the wire has it.
    private static func wire(_ registration: Registration, never: String) -> WireRegistration? {
        guard let platform = registration.platform, let handle = registration.handle else { return nil }
        // What was stored can be shown: its parts were checked then.
        guard let parts = try? platform.parts(of: handle) else { return nil }
        var wire = WireRegistration(
            platform: platform,
            id: registration.id.text,
            handle: parts,
            tags: WireTags.shown(registration)
        )
        wire.template = registration.template?.wire
        wire.etag = self.etag(registration)
        // The original has three forms of it, and so clients know all three.
        let isOfInstallation = registration.tags.contains { WireTags.installation(of: $0) != nil }
        wire.expirationTime =
            registration.expires?.iso8601 ?? (isOfInstallation ? WireTime.neverOfInstallation : never)
        return wire
    }

    private static func place(_ registration: Registration, _ request: HubRequest) -> WireRegistration.Place {
        WireRegistration.Place(
            address: request.address("registrations", registration.id.text),
            updated: registration.updated
        )
    }

    /// A number of the contents and of the time of the last registration, which a patch of tags leaves as it is.
    private static func etag(_ registration: Registration) -> String {
        var hash = SHA256()
        let contents = [
            String(registration.updated.milliseconds), registration.handle?.text ?? "",
            registration.user?.key.text ?? "", registration.credential.name, registration.written?.platform ?? "",
        ]
        let template = registration.template
        let texts =
            template.map { [$0.name, $0.content.body, $0.content.expiry ?? "", $0.content.priority ?? ""] } ?? []
        let headers = template?.content.headers.flatMap { [$0.name, $0.value] } ?? []
        hash.update(texts: contents + registration.tags.map(\.key) + texts + headers)
        // Of a digest: 63 bits, so that it is a number to every client.
        return String(hash.finalize().prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) } >> 1)
    }

    /// Checks `If-Match`: `*`, or the number in any of three spellings.
    private static func check(_ condition: String?, _ registration: Registration) throws(Problem) {
        guard let condition, condition != "*" else { return }
        let number = condition.hasPrefix("W/") ? condition.dropFirst(2) : condition[...]
        let bare =
            number.hasPrefix("\"") && number.hasSuffix("\"") && number.count > 1
            ? number.dropFirst().dropLast() : number
        guard bare == Self.etag(registration) else {
            throw Problem(.preconditionFailed, "the registration was changed since; read it again")
        }
    }

    static func limit(_ request: HubRequest) throws(Problem) -> Int {
        guard let text = request.target.query["$top"] else { return Self.maximumPage }
        guard let number = Int(text), number > 0 else {
            throw Problem(.badRequest, "$top: \(InvalidValue.mustBeWhole(1...Self.maximumPage))")
        }
        return min(number, Self.maximumPage)
    }
}

extension Registration {
    /// The platform under which the wire shows it.
    var platform: WirePlatform? { self.pns.flatMap { WirePlatform($0, written: self.written?.platform) } }
}
