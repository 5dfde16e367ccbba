import Foundation

/// What a push asks of the app.
public enum ReceivedPush: Sendable, Equatable {
    /// Fetch the content by ``PushlineClient/fetchRich(_:)``, then show the message.
    case rich(id: Int, message: String, richType: String)
    /// Fetch the text by ``PushlineClient/fetchRich(_:)``, then show it.
    case secure(id: Int)
    /// Nothing: the system shows this text.
    case text(String)
    /// A push of another kind.
    case other

    /// Reads the payload of a push, such as `userInfo` on Apple's systems.
    ///
    /// - Parameter payload: The payload. It may come from anybody who can push to the app.
    public init(payload: [AnyHashable: Any]) {
        if let id = Self.number(payload["secureId"]) {
            self = .secure(id: id)
        } else if let id = Self.number(payload["richId"]) {
            let message = payload["richMessage"] as? String ?? ""
            self = .rich(id: id, message: message, richType: payload["richType"] as? String ?? "img")
        } else if let text = Self.alert(payload["aps"]) {
            self = .text(text)
        } else {
            self = .other
        }
    }

    /// The number to fetch by; nil if there is nothing to fetch.
    public var number: Int? {
        switch self {
        case .rich(let id, _, _), .secure(let id): id
        case .text, .other: nil
        }
    }

    /// What ``init(payload:)`` reads as this push again, for the app's own notification about it; empty if there is
    /// nothing to fetch.
    public var payload: [String: String] {
        switch self {
        case .rich(let id, let message, let richType):
            ["richId": String(id), "richMessage": message, "richType": richType]
        case .secure(let id): ["secureId": String(id)]
        case .text, .other: [:]
        }
    }

    /// A positive integer of 32 bits, written as a text.
    private static func number(_ value: Any?) -> Int? {
        guard let text = value as? String, let number = Int32(text), number > 0 else { return nil }
        return Int(number)
    }

    private static func alert(_ value: Any?) -> String? {
        guard let aps = value as? [String: Any] else { return nil }
        if let text = aps["alert"] as? String { return text }
        guard let alert = aps["alert"] as? [String: Any] else { return nil }
        let lines = [alert["title"], alert["body"]].compactMap { $0 as? String }
        return lines.isEmpty ? nil : lines.joined(separator: "\n")
    }
}
