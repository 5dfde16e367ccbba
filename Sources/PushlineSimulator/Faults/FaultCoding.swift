import PushModel

/// A fault as `POST /faults` takes it.
///
/// Which requests: `service` (such as `apns`; none = all), `token` (device token or channel URI, whole or its end),
/// `share` (0 to 1) and `count` (the next so many). What happens: `action`, one of
/// - `answer` (the action where none is named): `reason`, `status` or both, `timestamp` in milliseconds for a 410,
///   `retryAfter` in seconds with `retryAfterForm` `seconds` or `date`
/// - `reset`, `refuse`, `close`, `silence`, `garbage`
/// - `swallow`: the push is accepted, and its answer lost
/// - `goaway`: `reason` for the debug data; `graceful` answers first
/// - `delay`: nothing but `latency`
/// - `settings`: `maxConcurrentStreams`
/// - `tokenEndpoint`: `status` and `error`, such as 400 and `invalid_grant`
///
/// - `mute`, `plain`, `expiredCertificate`, which hit new connections, those to token endpoints too
///
/// and `latency` in milliseconds before it, except at connections.
///
/// `GET /faults` adds `id`, `hits` (how many requests or connections it hit), and `left` (how many more it may hit; 0 = used
/// up or ended; none = no end).
struct FaultCoding: Codable {
    var fault: SimulatorFault
    private var state: InjectedFault?

    init(_ injected: InjectedFault) {
        self.fault = injected.fault
        self.state = injected
    }

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case service, token, share, count, latency, action, reason, status, timestamp, retryAfter, retryAfterForm
        case id, hits, left, graceful, maxConcurrentStreams, error
    }

    private struct AnyKey: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) {
            self.stringValue = stringValue
        }

        init?(intValue: Int) {
            nil
        }
    }

    init(from decoder: any Decoder) throws {
        let all = try decoder.container(keyedBy: AnyKey.self)
        for key in all.allKeys {
            guard let known = CodingKeys(stringValue: key.stringValue), ![.id, .hits, .left].contains(known) else {
                throw Self.invalid(decoder, "unknown member \(key.stringValue)")
            }
        }
        let members = try decoder.container(keyedBy: CodingKeys.self)
        let latency = try members.decodeIfPresent(Int.self, forKey: .latency) ?? 0
        let share = try members.decodeIfPresent(Double.self, forKey: .share) ?? 1
        let count = try members.decodeIfPresent(Int.self, forKey: .count)
        guard (0...1).contains(share) else { throw Self.invalid(decoder, "share is 0 to 1") }
        guard count.map({ $0 > 0 }) ?? true else { throw Self.invalid(decoder, "count is above 0") }
        guard (0...3_600_000).contains(latency) else { throw Self.invalid(decoder, "latency is 0 to 3600000 ms") }
        let name = try members.decodeIfPresent(String.self, forKey: .service)
        let pns = name.flatMap(SimulatedService.named)
        if name != nil, pns == nil { throw Self.invalid(decoder, "service is \(SimulatedService.names)") }
        let fault = SimulatorFault(
            try Self.action(members, decoder, pns: pns, hasLatency: latency > 0),
            pns: pns,
            token: try members.decodeIfPresent(String.self, forKey: .token),
            share: share,
            count: count,
            latency: latency
        )
        if fault.point == .connection, latency > 0 || fault.token != nil {
            throw Self.invalid(decoder, "token and latency: a connection has none")
        }
        self.fault = fault
    }

    /// The actions that have nothing to say about themselves.
    private static let simple: [String: SimulatorFault.Action] = [
        "reset": .reset, "refuse": .refuse, "close": .close, "silence": .silence, "swallow": .swallow,
        "garbage": .garbage, "delay": .delay, "mute": .mute, "plain": .plain, "expiredCertificate": .expiredCertificate,
    ]

    private static func action(
        _ members: KeyedDecodingContainer<CodingKeys>,
        _ decoder: any Decoder,
        pns: PushService?,
        hasLatency: Bool
    ) throws -> SimulatorFault.Action {
        let reason = try members.decodeIfPresent(String.self, forKey: .reason)
        let status = try members.decodeIfPresent(Int.self, forKey: .status)
        if let status, !(200...599).contains(status) { throw Self.invalid(decoder, "status is 200 to 599") }
        let implied = reason != nil || status != nil || !hasLatency ? "answer" : "delay"
        switch try members.decodeIfPresent(String.self, forKey: .action) ?? implied {
        case "answer":
            guard reason != nil || status != nil else { throw Self.invalid(decoder, "reason or status is missing") }
            if status == nil, let reason,
                (pns.map { [$0] } ?? Simulator.services).allSatisfy({
                    FaultAnswers.status(of: reason, for: $0) == nil
                })
            {
                throw Self.invalid(decoder, "no service has the reason \(reason): give its status too")
            }
            return .answer(
                reason: reason,
                status: status,
                timestamp: try members.decodeIfPresent(Int64.self, forKey: .timestamp),
                retryAfter: try Self.retryAfter(members, decoder)
            )
        case "goaway":
            let isGraceful = try members.decodeIfPresent(Bool.self, forKey: .graceful) ?? false
            return .goAway(reason: reason ?? "Shutdown", graceful: isGraceful)
        case "settings":
            let limit = try members.decode(Int.self, forKey: .maxConcurrentStreams)
            guard (0...Int(Int32.max)).contains(limit) else {
                throw Self.invalid(decoder, "maxConcurrentStreams is 0 or more")
            }
            return .settings(maxConcurrentStreams: limit)
        case "tokenEndpoint":
            let error = try members.decodeIfPresent(String.self, forKey: .error)
            return .tokenEndpoint(status: status ?? 400, error: error ?? "invalid_grant")
        case let other:
            guard let action = Self.simple[other] else { throw Self.invalid(decoder, "unknown action \(other)") }
            return action
        }
    }

    private static func retryAfter(
        _ members: KeyedDecodingContainer<CodingKeys>,
        _ decoder: any Decoder
    ) throws -> SimulatorFault.RetryAfter? {
        guard let seconds = try members.decodeIfPresent(Int.self, forKey: .retryAfter) else { return nil }
        switch try members.decodeIfPresent(String.self, forKey: .retryAfterForm) ?? "seconds" {
        case "seconds": return .seconds(seconds)
        case "date": return .date(seconds: seconds)
        default: throw Self.invalid(decoder, "retryAfterForm is seconds or date")
        }
    }

    private static func invalid(_ decoder: any Decoder, _ text: String) -> DecodingError {
        .dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: text))
    }

    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encodeIfPresent(self.state?.id, forKey: .id)
        try members.encodeIfPresent(self.state?.hits, forKey: .hits)
        try members.encodeIfPresent(self.state?.left, forKey: .left)
        try members.encodeIfPresent(self.fault.pns, forKey: .service)
        try members.encodeIfPresent(self.fault.token, forKey: .token)
        try members.encode(self.fault.share, forKey: .share)
        try members.encodeIfPresent(self.fault.count, forKey: .count)
        try members.encode(self.fault.latency, forKey: .latency)
        switch self.fault.action {
        case .answer(let reason, let status, let timestamp, let retryAfter):
            try members.encode("answer", forKey: .action)
            try members.encodeIfPresent(reason, forKey: .reason)
            try members.encodeIfPresent(status, forKey: .status)
            try members.encodeIfPresent(timestamp, forKey: .timestamp)
            switch retryAfter {
            case .seconds(let seconds): try members.encode(seconds, forKey: .retryAfter)
            case .date(let seconds):
                try members.encode(seconds, forKey: .retryAfter)
                try members.encode("date", forKey: .retryAfterForm)
            case nil: break
            }
        case .goAway(let reason, let isGraceful):
            try members.encode("goaway", forKey: .action)
            try members.encode(reason, forKey: .reason)
            try members.encode(isGraceful, forKey: .graceful)
        case .settings(let limit):
            try members.encode("settings", forKey: .action)
            try members.encode(limit, forKey: .maxConcurrentStreams)
        case .tokenEndpoint(let status, let error):
            try members.encode("tokenEndpoint", forKey: .action)
            try members.encode(status, forKey: .status)
            try members.encode(error, forKey: .error)
        case .reset, .refuse, .close, .silence, .swallow, .garbage, .delay, .mute, .plain, .expiredCertificate:
            let name = Self.simple.first { $0.value == self.fault.action }?.key
            try members.encode(name, forKey: .action)
        }
    }
}
