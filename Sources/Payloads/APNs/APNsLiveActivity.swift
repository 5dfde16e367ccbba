package import PushModel

/// The dictionary `aps` of a Live Activity's push: what ActivityKit does not understand changes nothing on the device, and nobody
/// hears of it, so it is refused here.
package enum APNsLiveActivity {
    /// What happens to the activity.
    private enum Event: String {
        case start, update, end
    }

    /// What only a start has.
    private static let ofStart = ["attributes-type", "attributes", "input-push-token", "input-push-channel"]

    /// What ``check(_:)`` takes, as a schema in YAML on one line.
    static let schema: String = {
        let time = "{type: integer, minimum: 0, maximum: 99999999999}"
        let noStart = Self.ofStart.map { "\($0): false" }.joined(separator: ", ")
        let one = "{anyOf: [{properties: {input-push-token: false}}, {properties: {input-push-channel: false}}]}"
        return "{required: [timestamp, event], properties: "
            + "{timestamp: \(time), stale-date: \(time), dismissal-date: \(time), content-state: {type: object}, alert: {type: object}, relevance-score: {type: number}, "
            + "attributes-type: {type: string, minLength: 1}, attributes: {type: object}, input-push-token: {const: 1}, "
            + "input-push-channel: {type: string, minLength: 1}}, oneOf: ["
            + "{required: [content-state, alert, attributes-type, attributes], allOf: [\(one)], "
            + "properties: {event: {const: start}, dismissal-date: false}}, "
            + "{required: [content-state], properties: {event: {const: update}, dismissal-date: false, \(noStart)}}, "
            + "{properties: {event: {const: end}, \(noStart)}}]}"
    }()

    /// The notification of a Live Activity.
    ///
    /// - Parameters:
    ///   - aps: The members of `aps`.
    ///   - priority: The send's priority. Apple counts pushes of priority 10 against an hourly budget, and those of 5 not; so 10 is for
    ///     what is urgent, and for an alert, which lights up the screen.
    ///   - isBroadcast: Whether it goes to a channel: that reaches activities which listen to it, and starts none.
    /// - Returns: The payload, with its priority as a header.
    /// - Throws: ``InvalidValue`` that names the member of `aps`.
    package static func payload(
        aps: [JSONValue.Member],
        priority: Priority,
        isBroadcast: Bool
    ) throws(InvalidValue) -> NativePayload {
        try Self.check(aps)
        if isBroadcast, aps.contains(where: { $0.name == "event" && $0.value == .string(Event.start.rawValue) }) {
            throw InvalidValue(
                member: "event",
                "must be update or end to a channel; activities are started by the app, or by a start to their handles"
            )
        }
        let isUrgent = priority == .high || aps.contains { $0.name == "alert" }
        let payload = NativePayload(
            kind: isBroadcast ? .broadcast : .liveactivity,
            headers: [NativePayload.Header("apns-priority", isUrgent ? "10" : "5")],
            body: JSONValue.object([.init("aps", .object(aps))]).bytes
        )
        // Mostly the state is what is large.
        if let excess = PayloadFormatter.Measured(payload, member: "content-state").excess { throw excess }
        return payload
    }

    /// - Throws: ``InvalidValue`` that names the member of `aps`.
    static func check(_ aps: [JSONValue.Member]) throws(InvalidValue) {
        func value(_ name: String) -> JSONValue? { aps.first { $0.name == name }?.value }
        guard value("timestamp") != nil else {
            throw InvalidValue(member: "timestamp", "is required: the device ignores what is older than what it has")
        }
        for name in ["timestamp", "stale-date", "dismissal-date"] { try Self.checkTime(value(name), name) }
        guard case .string(let word)? = value("event"), let event = Event(rawValue: word) else {
            throw InvalidValue(member: "event", "must be start, update or end")
        }
        // An end may leave the activity as it was shown last.
        try Self.checkObject(value("content-state"), "content-state", isRequired: event != .end)
        try Self.checkObject(value("alert"), "alert", isRequired: event == .start)
        if case .start = event {
            try Self.checkStart(value)
        } else {
            for name in Self.ofStart where value(name) != nil {
                throw InvalidValue(member: name, "belongs to the event start")
            }
        }
        if event != .end, value("dismissal-date") != nil {
            throw InvalidValue(member: "dismissal-date", "belongs to the event end")
        }
        if let score = value("relevance-score") {
            guard case .number = score else {
                throw InvalidValue(member: "relevance-score", score.mustBe("a number"))
            }
        }
    }

    private static func checkStart(_ value: (String) -> JSONValue?) throws(InvalidValue) {
        guard case .string(let type)? = value("attributes-type"), !type.isEmpty else {
            throw InvalidValue(member: "attributes-type", "must be the name of the app's type: a start needs it")
        }
        try Self.checkObject(value("attributes"), "attributes", isRequired: true)
        if let token = value("input-push-token") {
            guard token == .number("1") else { throw InvalidValue(member: "input-push-token", "must be 1") }
        }
        guard let channel = value("input-push-channel") else { return }
        guard case .string(let id) = channel, !id.isEmpty else {
            throw InvalidValue(member: "input-push-channel", "must be the id of a channel")
        }
        guard value("input-push-token") == nil else {
            throw InvalidValue(
                member: "input-push-channel",
                "cannot stand beside a request for a token: an activity has one or the other"
            )
        }
    }

    private static func checkObject(_ value: JSONValue?, _ name: String, isRequired: Bool) throws(InvalidValue) {
        guard let value else {
            guard isRequired else { return }
            throw InvalidValue(member: name, "is required with this event: an object")
        }
        guard case .object = value else { throw InvalidValue(member: name, value.mustBe("an object")) }
    }

    private static func checkTime(_ value: JSONValue?, _ name: String) throws(InvalidValue) {
        guard let value else { return }
        // Eleven digits end in the year 5138: more is milliseconds by mistake.
        guard case .number(let text) = value, HeaderList.isNumber(text, digits: 11) else {
            throw InvalidValue(member: name, "must be a time in seconds since 1970")
        }
    }
}
