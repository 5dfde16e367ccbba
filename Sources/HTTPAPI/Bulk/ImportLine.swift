import Intake
import Payloads
import PushModel
import Store
import WebServing

/// A registration as a line of NDJSON has it, for import and export alike; an export has none for templates.
struct ImportLine {
    static let members = [
        "id", "service", "handle", "credential", "user", "tags", "expires", "template", "hubPlatform",
    ]

    let spec: AppSpec
    /// Whose a registration is that names nobody; nil = nobody's.
    var owner: UserName?

    /// Reads a line.
    ///
    /// - Throws: ``InvalidValue`` that names the member; never holds a handle.
    func registration(_ bytes: [UInt8]) throws(InvalidValue) -> ImportedRegistration {
        do {
            return try self.registration(StrictMembers(JSONReader.read(bytes), known: Self.members))
        } catch let error as JSONSyntaxError {
            throw InvalidValue("not JSON: column \(error.column): \(error.reason)")
        } catch let problem as Problem {
            throw problem.errors.first ?? InvalidValue(problem.detail)
        } catch let error as InvalidValue {
            throw error
        } catch {
            throw InvalidValue("cannot be read")
        }
    }

    /// Reads members that are known.
    ///
    /// - Throws: ``InvalidValue`` or ``Problem`` that names the member.
    func registration(_ members: StrictMembers) throws -> ImportedRegistration {
        guard let pns = PushService(rawValue: try members.requiredString("service")) else {
            throw PushService.unknown().named("service")
        }
        let handle = try Self.named("handle") { try self.spec.handle(try members.requiredString("handle"), of: pns) }
        let credential = try Self.named("credential") {
            try self.spec.credential(try members.string("credential"), of: pns)
        }
        let id = try members.string("id").map { text in
            guard let id = RegistrationID(text) else {
                throw InvalidValue(member: "id", "must have 1 to 128 letters, digits and - _ . ~")
            }
            return id
        }
        let given = try members.string("user").map { name in
            try Self.named("user") { try UserName(name, self.spec.users) }
        }
        let all = try RegistrationTags.read(members["tags"], member: "tags", self.spec)
        // The user's own tag names them, as on other hubs, where the line has no user.
        let (user, tags) = try TagPolicy(self.spec).divide(all, user: given, or: self.owner) { "tags[\($0)]" }
        let other = try members.string("hubPlatform").map { try Self.platform($0, for: pns) }
        return ImportedRegistration(
            id: id,
            pns: pns,
            handle: handle,
            credential: credential,
            user: user,
            tags: tags,
            expires: try Self.expires(members),
            template: try members["template"].map { try Self.template($0, for: pns, other) },
            platform: other
        )
    }

    private static func expires(_ members: StrictMembers) throws -> Timestamp? {
        guard let text = try members.string("expires") else { return nil }
        guard let time = Timestamp(rfc3339: text) else {
            throw InvalidValue(
                member: "expires",
                "must be a time with a time zone (Z or +01:00), as in 2026-11-21T08:30:00Z"
            )
        }
        guard time > .now else { throw InvalidValue(member: "expires", "is over already") }
        return time
    }

    /// The platform under which a hub's wire shows it.
    private static func platform(_ name: String, for pns: PushService) throws -> String {
        let names = WrittenDevice.otherPlatforms[pns] ?? []
        guard names.contains(name) else {
            let words =
                names.isEmpty
                ? "\(pns.rawValue) has one platform alone; leave it out" : "must be \(names.joined(separator: ", "))"
            throw InvalidValue(member: "hubPlatform", words)
        }
        return name
    }

    /// A template of another hub's.
    private static func template(
        _ value: JSONValue,
        for pns: PushService,
        _ platform: String?
    ) throws -> DeviceTemplate {
        let members = try StrictMembers(
            value,
            path: "template",
            known: ["name", "body", "headers", "expiry", "priority"]
        )
        let name = try members.string("name") ?? ""
        guard name.utf8.count <= DeviceTemplate.longestName else {
            throw members.fault("name", "must have at most \(DeviceTemplate.longestName) bytes")
        }
        let headers = try members.texts("headers").sorted { $0.key < $1.key }
        let content = DeviceTemplate.Content(
            body: try members.requiredString("body"),
            headers: headers.map { NativePayload.Header($0.key, $0.value) },
            expiry: try members.string("expiry"),
            priority: try members.string("priority"),
            platform: platform
        )
        try Self.named("template") { try TemplatePayload.check(content, for: pns) }
        return DeviceTemplate(name: name, content: content)
    }

    private static func named<Value>(_ member: String, _ make: () throws -> Value) throws -> Value {
        do { return try make() } catch let error as InvalidValue { throw error.named(member) }
    }

    /// The line that an import takes for this registration; nil if it is in no state to be imported.
    static func text(_ registration: Registration) -> [UInt8]? {
        guard let pns = registration.pns, let handle = registration.handle else { return nil }
        let own = registration.user.map { Tag(user: $0) }
        let line = JSONValue.members([
            "id": .string(registration.id.text),
            "service": .string(pns.rawValue),
            "handle": .string(handle.text),
            "credential": registration.credential.named.map { .string($0.name) },
            "user": registration.user.map { .string($0.name) },
            "tags": .strings(registration.tags.filter { $0 != own }.map(\.name)),
            "expires": registration.expires.map { .string($0.iso8601) },
            "hubPlatform": registration.written?.platform.flatMap { name in
                WrittenDevice.otherPlatforms[pns]?.contains(name) == true ? .string(name) : nil
            },
        ])
        return line.bytes + [UInt8(ascii: "\n")]
    }
}
