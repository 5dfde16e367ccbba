import Payloads
import PushModel

// The member `liveActivity` of a send.
extension SendContent {
    /// Its members, and what they are called in `aps`.
    static let ofLiveActivity: KeyValuePairs = [
        "timestamp": "timestamp", "event": "event", "contentState": "content-state", "staleDate": "stale-date",
        "dismissalDate": "dismissal-date", "relevanceScore": "relevance-score", "alert": "alert",
        "attributesType": "attributes-type", "attributes": "attributes", "inputPushToken": "input-push-token",
        "inputPushChannel": "input-push-channel",
    ]

    /// Reads a send that starts, changes or ends Live Activities.
    ///
    /// - Parameters:
    ///   - body: The body of the send.
    ///   - target: Its audience: tokens of activities, those that start one, or a channel. No registration has such a token, and an
    ///     activity's token takes nothing else.
    ///   - priority: Its priority.
    ///   - time: When it goes out, unless the member says otherwise: the device ignores what is older than what it has.
    /// - Returns: The content; nil = the send has no such member.
    /// - Throws: ``Problem`` that names the member.
    static func liveActivity(
        _ body: StrictMembers,
        to target: SendTarget,
        priority: Priority,
        at time: Timestamp
    ) throws -> SendContent? {
        guard let value = body["liveActivity"] else { return nil }
        for member in Self.members where member != "liveActivity" && body[member] != nil {
            throw body.fault(member, "cannot stand beside liveActivity: what an activity shows is in contentState")
        }
        guard target.services.allSatisfy({ $0 == .apns }) else {
            throw body.fault("services", "must be apns beside liveActivity, or left out")
        }
        guard case .handles(let devices)? = target.recipients?.devices, devices.allSatisfy({ $0.pns == .apns }) else {
            throw body.fault(
                "to",
                "must be a channel beside liveActivity, or handles, each with service apns and the token of an activity, or one that starts activities"
            )
        }
        let known = Self.ofLiveActivity.map(\.key)
        let members = try StrictMembers(value, path: "liveActivity", known: known)
        let aps: [JSONValue.Member] = try Self.ofLiveActivity.compactMap { name, key in
            try Self.value(of: name, in: members, at: time).map { JSONValue.Member(key, $0) }
        }
        do throws(InvalidValue) {
            let payload = try APNsLiveActivity.payload(
                aps: aps,
                priority: priority,
                isBroadcast: target.isToChannel
            )
            return SendContent(.native(.init(message: nil, forms: [payload])), services: [.apns])
        } catch {
            let name = Self.ofLiveActivity.first { $0.value == error.member }?.key ?? error.member
            throw members.fault(name, error.reason)
        }
    }

    /// The value for `aps`.
    private static func value(of name: String, in members: StrictMembers, at time: Timestamp) throws -> JSONValue? {
        switch name {
        case "timestamp": try .integer(Int(Self.time(name, in: members)?.seconds ?? time.seconds))
        case "staleDate", "dismissalDate": try Self.time(name, in: members).map { .integer(Int($0.seconds)) }
        case "inputPushToken": try members.bool(name) == true ? .integer(1) : nil
        default: members[name]
        }
    }

    private static func time(_ name: String, in members: StrictMembers) throws -> Timestamp? {
        guard let text = try members.string(name) else { return nil }
        guard let time = Timestamp(rfc3339: text), time.seconds >= 0 else {
            throw members.fault(name, "must be a time with a time zone (Z or +01:00), as in 2026-11-21T08:30:00Z")
        }
        return time
    }
}
