import PushModel
import Store

/// The calls of a hub over a wire, as their job shows them.
enum HubCallsText {
    /// Which hub has them.
    static let kind = "azure"
    /// The most that a job shows.
    static let most = 100

    static func write(_ calls: [HubCall], to members: inout JSONWriter) {
        members.add("kind", Self.kind)
        members.add("note", Self.note(on: calls))
        members.add("calls", JSONValue.array(calls.prefix(Self.most).map(Self.json)))
        if calls.count > Self.most { members.add("more", true) }
    }

    /// What is known of the devices (rule 18); nil = the hub has taken none of the calls.
    private static func note(on calls: [HubCall]) -> String? {
        let taken = calls.filter { $0.state == .taken }
        guard !taken.isEmpty else { return nil }
        let known =
            "the hub took the calls that count as accepted; only its telemetry says what became of each device"
        return taken.contains { $0.telemetry == .notOffered }
            ? "\(known), and the tier of this hub does not offer it" : known
    }

    private static func json(_ call: HubCall) -> JSONValue {
        .members([
            "service": .string(call.key.pns.rawValue),
            "place": Recipient.place(of: call.key.number).map { .integer($0) },
            "state": .string(call.state.rawValue),
            "notification": call.id.map { .string($0) },
            "telemetry": call.telemetry.map { .string($0.rawValue) },
            "outcome": call.outcome.map { .string($0.state) },
            "devices": call.outcome.map { outcome in
                .object(outcome.devices.sorted { $0.key < $1.key }.map { .init($0.key, .integer($0.value)) })
            },
        ])
    }
}
