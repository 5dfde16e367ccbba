import DequeModule
package import Foundation
import NIOCore
package import PushModel

/// A push as the simulator received it.
package struct ReceivedPush: Sendable, Equatable {
    /// Its place among all that came since the start, from 0.
    package var index: Int
    package var pns: PushService
    /// The device token as sent, or the channel URI.
    package var token: String
    /// Names in lower case.
    package var headers: [String: String]
    package var body: String
    /// When it came, to the millisecond.
    package var time: Date
    /// The status answered; 0 = none was.
    package var status: Int
    /// The reason in the answer, or the action: `reset`, `refuse`, `close`, `goaway`, `silence`, `garbage`.
    package var reason: String?
}

/// Numbers about all that came since the start or the last reset.
package struct SimulatorCounts: Sendable, Equatable, Codable {
    /// The numbers of one service.
    package struct Service: Sendable, Equatable, Codable {
        /// All pushes, with any result.
        package var requests = 0
        /// By status; `0` = not answered.
        package var statuses: [String: Int] = [:]
        /// By reason.
        package var reasons: [String: Int] = [:]
        /// Answered 2xx and not dropped.
        package var accepted = 0
        /// Tokens among the accepted ones.
        package var distinctTokens = 0
        /// Accepted more than once: the same `apns-id` to the same token; on FCM and WNS the same body to the same target.
        package var duplicates = 0
        /// Access tokens given out.
        package var accessTokens = 0
    }

    private var services = Dictionary(uniqueKeysWithValues: Simulator.services.map { ($0, Service()) })
    /// The index that the next push will have; for `since`.
    package var next = 0
    /// Whether distinct tokens and duplicates are still exact: they stop growing at ten million entries.
    package var isExact = true

    package init() {}

    package subscript(pns: PushService) -> Service {
        get { self.services[pns] ?? Service() }
        set { self.services[pns] = newValue }
    }

    /// The members of the JSON text: ``next``, ``isExact``, and one for each service.
    private struct Key: CodingKey {
        static let next = Key("next")
        static let isExact = Key("isExact")

        let stringValue: String
        var intValue: Int? { nil }

        init(_ name: String) { self.stringValue = name }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        self.next = try container.decode(Int.self, forKey: .next)
        self.isExact = try container.decode(Bool.self, forKey: .isExact)
        for service in Simulator.services {
            self[service] = try container.decode(Service.self, forKey: Key(service.rawValue))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(self.next, forKey: .next)
        try container.encode(self.isExact, forKey: .isExact)
        for service in Simulator.services { try container.encode(self[service], forKey: Key(service.rawValue)) }
    }
}

/// The last pushes, packed.
struct KeptPushes {
    /// One push in one allocation: 200,000 of them must fit.
    fileprivate struct Entry {
        var milliseconds: Int64
        var pns: PushService
        var status: UInt16
        var tokenEnd: UInt32
        var headersEnd: UInt32
        /// Shared by all the pushes that carry it.
        var authorization: String?
        var reason: String?
        /// Token, then headers as `name 0 value 0`, then the body.
        var bytes: [UInt8]
    }

    fileprivate var entries: Deque<Entry> = []
    /// The index of the first one.
    fileprivate var first = 0

    /// The matching pushes, oldest first.
    func received(_ filter: ReceivedFilter) -> [ReceivedPush] {
        var found: [ReceivedPush] = []
        for (offset, entry) in self.entries.enumerated() {
            let index = self.first + offset
            if let wanted = filter.pns, wanted != entry.pns { continue }
            if let since = filter.sinceIndex, index < since { continue }
            if let since = filter.sinceTime, entry.milliseconds < Int64((since.timeIntervalSince1970 * 1000).rounded())
            {
                continue
            }
            let token = String(decoding: entry.bytes[..<Int(entry.tokenEnd)], as: UTF8.self)
            if let wanted = filter.token, !tokenMatches(token, wanted: wanted, pns: entry.pns) { continue }
            found.append(Self.unpack(entry, token: token, index: index))
            if found.count == filter.limit { break }
        }
        return found
    }

    private static func unpack(_ entry: Entry, token: String, index: Int) -> ReceivedPush {
        let packed = entry.bytes[Int(entry.tokenEnd)..<Int(entry.headersEnd)]
        let parts = packed.split(separator: 0, omittingEmptySubsequences: false)
        var headers: [String: String] = [:]
        for place in stride(from: 0, to: parts.count - 1, by: 2) {
            let name = String(decoding: parts[place], as: UTF8.self)
            let value = String(decoding: parts[place + 1], as: UTF8.self)
            headers[name] = headers[name].map { $0 + ", " + value } ?? value
        }
        if let authorization = entry.authorization { headers["authorization"] = authorization }
        return ReceivedPush(
            index: index,
            pns: entry.pns,
            token: token,
            headers: headers,
            body: String(decoding: entry.bytes[Int(entry.headersEnd)...], as: UTF8.self),
            time: Date(timeIntervalSince1970: Double(entry.milliseconds) / 1000),
            status: Int(entry.status),
            reason: entry.reason
        )
    }
}

/// The last pushes, and the counts of all.
struct Journal {
    private let keep: Int
    private(set) var kept = KeptPushes()
    private(set) var accepted = AcceptedPushes()
    private var lastAuthorization: String?
    private var tokens: Set<Int> = []
    private var deliveries: Set<Int> = []
    private(set) var counts = SimulatorCounts()

    private static let maximumHashes = 10_000_000

    init(keep: Int) {
        self.keep = max(keep, 0)
    }

    mutating func clear() {
        let (next, accepted) = (self.counts.next, self.accepted)
        self = Journal(keep: self.keep)
        self.counts.next = next
        self.accepted = accepted
        self.accepted.clear()
    }

    mutating func countAccessToken(of pns: PushService) {
        self.counts[pns].accessTokens += 1
    }

    mutating func record(_ pns: PushService, token: String, request: InboundRequest, status: Int, reason: String?) {
        self.count(pns, token: token, request: request, status: status, reason: reason)
        guard self.keep > 0 else { return }
        if self.kept.entries.isEmpty { self.kept.first = self.counts.next - 1 }
        if self.kept.entries.count >= self.keep {
            self.kept.entries.removeFirst()
            self.kept.first += 1
        }
        var bytes: [UInt8] = []
        // Exactly: excess capacity would be kept 200,000 times.
        let headers = request.fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 2 }
        bytes.reserveCapacity(token.utf8.count + headers + request.body.readableBytes)
        bytes.append(contentsOf: token.utf8)
        let tokenEnd = UInt32(bytes.count)
        var authorization: String?
        for field in request.fields {
            if field.name == "authorization" {
                if self.lastAuthorization != field.value { self.lastAuthorization = field.value }
                authorization = self.lastAuthorization
                continue
            }
            bytes.append(contentsOf: field.name.utf8)
            bytes.append(0)
            bytes.append(contentsOf: field.value.utf8)
            bytes.append(0)
        }
        let headersEnd = UInt32(bytes.count)
        bytes.append(contentsOf: request.body.readableBytesView)
        self.kept.entries.append(
            KeptPushes.Entry(
                milliseconds: Int64(Date.now.timeIntervalSince1970 * 1000),
                pns: pns,
                status: UInt16(clamping: status),
                tokenEnd: tokenEnd,
                headersEnd: headersEnd,
                authorization: authorization,
                reason: reason,
                bytes: bytes
            )
        )
    }

    private mutating func count(
        _ pns: PushService,
        token: String,
        request: InboundRequest,
        status: Int,
        reason: String?
    ) {
        var of = self.counts[pns]
        of.requests += 1
        of.statuses[String(status), default: 0] += 1
        if let reason { of.reasons[reason, default: 0] += 1 }
        if (200..<300).contains(status), reason == nil {
            of.accepted += 1
            self.accepted.append(pns, token: token, request: request)
            if self.deliveries.count < Self.maximumHashes {
                var hasher = Hasher()
                hasher.combine(pns)
                hasher.combine(token)
                if self.tokens.insert(hasher.finalize()).inserted { of.distinctTokens += 1 }
                if let id = request.notificationID {
                    hasher.combine(id)
                } else {
                    hasher.combine(request.body)
                }
                if !self.deliveries.insert(hasher.finalize()).inserted { of.duplicates += 1 }
            } else {
                self.counts.isExact = false
            }
        }
        self.counts[pns] = of
        self.counts.next += 1
    }
}

/// Which pushes are asked for.
struct ReceivedFilter {
    var token: String?
    var pns: PushService?
    var sinceIndex: Int?
    var sinceTime: Date?
    var limit = Int.max
}
