import Foundation
import HubWire
import PushModel

/// Why a registration of a hub is left out.
enum HubImportSkip: Error, Hashable {
    case template
    case platform(String)
    case expired
    case unreadable
    case known

    /// In words, behind a count of registrations.
    var words: String {
        switch self {
        case .template: "for templates: the devices register for them again through pushline-hub"
        case .platform(let name): "of the platform \(name), which is not copied"
        case .expired: "over already"
        case .unreadable: "that cannot be read"
        case .known: "of devices that the app has already"
        }
    }

    /// For JSON and the file of the progress.
    var key: String {
        switch self {
        case .template: "template"
        case .platform(let name): "platform:\(name)"
        case .expired: "expired"
        case .unreadable: "unreadable"
        case .known: "known"
        }
    }

    init?(key: String) {
        let all: [HubImportSkip] = [.template, .expired, .unreadable, .known]
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
        let bytes: [UInt8]
    }

    mutating func add(_ line: Line) {
        self.text.append(contentsOf: line.bytes)
        self.text.append(UInt8(ascii: "\n"))
        self.ids.append(line.id)
    }

    /// The line for a registration: its id, device, tags and user, and its end where it has one.
    ///
    /// What of it is no valid value here, such as a tag, is the server's to refuse, by its member.
    static func line(of wire: WireRegistration, now: Timestamp) -> Result<Line, HubImportSkip> {
        guard let pns = wire.platform.service, pns != .mpns else {
            return .failure(.platform(wire.platform.rawValue.lowercased()))
        }
        guard wire.template == nil else { return .failure(.template) }
        guard let id = wire.id, let handle = try? wire.platform.handleText(of: wire.handle) else {
            return .failure(.unreadable)
        }
        let end = wire.expirationTime.flatMap(WireTime.loose).flatMap { Self.isEver($0) ? nil : $0 }
        if let end, end <= now { return .failure(.expired) }
        let (user, tags) = Self.names(wire.tags)
        let line = JSONValue.members([
            "id": .string(id), "pns": .string(pns.rawValue), "handle": .string(handle),
            "user": user.map { .string($0) }, "tags": .strings(tags), "expires": end.map { .string($0.iso8601) },
        ])
        return .success(Line(id: id, pns: pns.rawValue, handle: handle, bytes: line.bytes))
    }

    /// A hub writes the end of time where there is no end.
    private static func isEver(_ time: Timestamp) -> Bool { time.iso8601.hasPrefix("9999-") }

    /// The tags of the system as ours, and the user that one of them names.
    private static func names(_ all: [String]) -> (user: String?, tags: [String]) {
        var user: String?
        var tags: [String] = []
        for tag in all {
            if let name = Self.inner(tag, of: "$UserId:{") {
                user = name
            } else if let id = Self.inner(tag, of: "$InstallationId:{") {
                tags.append(Tag.installationPrefix + id)
            } else {
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
