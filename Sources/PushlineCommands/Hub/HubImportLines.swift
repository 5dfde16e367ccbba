import Foundation
import HubWire
import PushModel

/// Why a registration of a hub is left out.
enum HubImportSkip: Error, Hashable {
    case platform(String)
    case secondaryTile
    case expired
    case unreadable
    case known

    /// In words, behind a count of registrations.
    var words: String {
        switch self {
        case .platform(let name): "of the platform \(name), which is not copied"
        case .secondaryTile: "of secondary tiles, which are not devices of their own"
        case .expired: "that expired"
        case .unreadable: "that cannot be read"
        case .known: "of devices that the app already has"
        }
    }

    /// For JSON and the file of the progress.
    var key: String {
        switch self {
        case .platform(let name): "platform:\(name)"
        case .secondaryTile: "secondaryTile"
        case .expired: "expired"
        case .unreadable: "unreadable"
        case .known: "known"
        }
    }

    init?(key: String) {
        let all: [HubImportSkip] = [.secondaryTile, .expired, .unreadable, .known]
        if let plain = all.first(where: { $0.key == key }) {
            self = plain
        } else if key.hasPrefix("platform:") {
            self = .platform(String(key.dropFirst("platform:".count)))
        } else {
            return nil
        }
    }
}

/// Registrations of a hub as lines of an import.
struct HubImportLines {
    private(set) var text = Data()
    /// The id of each line's registration.
    private(set) var ids: [String] = []

    var count: Int { self.ids.count }

    /// One of them.
    struct Line {
        let id: String
        let pns: String
        let handle: String
        /// What tells its template from the others of its device; nil = it is for native notifications.
        let template: String?
        /// Whether the hub has push variables with it, which are not copied.
        let hadPushVariables: Bool
        let bytes: [UInt8]
    }

    mutating func add(_ line: Line) {
        self.text.append(contentsOf: line.bytes)
        self.text.append(UInt8(ascii: "\n"))
        self.ids.append(line.id)
    }

    /// The line for a registration: its id, device, tags, user and template, and its end where it has one.
    ///
    /// What of it is not a valid value here, such as a tag, is the server's to refuse, by its member.
    static func line(of wire: WireRegistration, now: Timestamp) -> Result<Line, HubImportSkip> {
        guard let pns = wire.platform.service, pns != .mpns else {
            return .failure(.platform(wire.platform.rawValue.lowercased()))
        }
        // A tile has a channel of its own: as a registration it would get each notification a second time.
        guard wire.secondaryTileName?.isEmpty ?? true else { return .failure(.secondaryTile) }
        guard let id = wire.id, let handle = try? wire.platform.handleText(of: wire.handle) else {
            return .failure(.unreadable)
        }
        let end = wire.expirationTime.flatMap(WireTime.loose).flatMap { Self.isEver($0) ? nil : $0 }
        if let end, end <= now { return .failure(.expired) }
        let (user, tags) = Self.names(wire.tags, wire.template?.name)
        let line = JSONValue.members([
            "id": .string(id), "service": .string(pns.rawValue), "handle": .string(handle),
            "user": user.map { .string($0) }, "tags": .strings(tags), "expires": end.map { .string($0.iso8601) },
            "template": wire.template.map(Self.template), "hubPlatform": wire.platform.written.map { .string($0) },
        ])
        return .success(
            Line(
                id: id,
                pns: pns.rawValue,
                handle: handle,
                template: wire.template.map(Self.slot),
                hadPushVariables: Self.says(wire.pushVariables),
                bytes: line.bytes
            )
        )
    }

    private static func slot(_ wire: WireTemplate) -> String {
        let headers = wire.headers.map { NativePayload.Header($0.name, $0.value) }
        return DeviceTemplate(name: wire.name ?? "", content: .init(body: wire.body, headers: headers)).slot
    }

    /// Whether there are push variables; some clients write an empty object for none.
    private static func says(_ pushVariables: String?) -> Bool {
        let text = pushVariables?.filter { !$0.isWhitespace } ?? ""
        return !text.isEmpty && text != "{}"
    }

    private static func template(_ wire: WireTemplate) -> JSONValue {
        .members([
            "name": wire.name.map { .string($0) }, "body": .string(wire.body),
            "headers": wire.headers.isEmpty
                ? nil : .object(wire.headers.map { JSONValue.Member($0.name, .string($0.value)) }),
            // An empty element says nothing.
            "expiry": wire.expiry.flatMap { $0.isEmpty ? nil : .string($0) },
            "priority": wire.priority.flatMap { $0.isEmpty ? nil : .string($0) },
        ])
    }

    /// A hub writes the end of time where there is no end.
    private static func isEver(_ time: Timestamp) -> Bool { time.iso8601.hasPrefix("9999-") }

    /// The tags of the system as ours, and the user that one of them names.
    ///
    /// - Parameters:
    ///   - all: The tags as the hub has them.
    ///   - template: The name of the template. A hub makes it a tag of an installation's template; one that is none here, such as a name
    ///     with a blank, is left out.
    /// - Returns: Both; no user = it is nobody's.
    private static func names(_ all: [String], _ template: String?) -> (user: String?, tags: [String]) {
        var user: String?
        var tags: [String] = []
        for tag in all {
            if let name = Self.inner(tag, of: "$UserId:{") {
                user = name
            } else if let id = Self.inner(tag, of: "$InstallationId:{") {
                tags.append(Tag.installationPrefix + id)
            } else if tag != template || (try? Tag(tag, .folded)) != nil {
                tags.append(tag)
            }
        }
        return (user, tags)
    }

    private static func inner(_ tag: String, of begin: String) -> String? {
        guard tag.hasSuffix("}"), tag.prefix(begin.count).lowercased() == begin.lowercased() else { return nil }
        return String(tag.dropFirst(begin.count).dropLast())
    }
}
