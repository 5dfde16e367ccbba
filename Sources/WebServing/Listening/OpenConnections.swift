import Foundation
import Logging
import Metrics
import NIOConcurrencyHelpers
import NIOCore
package import PushModel
import PushlineMetrics

/// How many connections a listener holds, and how long one may do nothing.
package struct ConnectionLimits: Sendable {
    let deadlines: ConnectionDeadlines.Limits
    /// The most connections at a time.
    let connections: Int
    /// The most from one address (IPv6: from one /64); 0 = no limit.
    let perPeer: Int
    /// Peers without a limit of their own: proxies that are trusted.
    var proxies: TrustedProxies

    package init(
        deadlines: ConnectionDeadlines.Limits = ConnectionDeadlines.Limits(request: .seconds(30), idle: .seconds(38)),
        connections: Int = 256,
        perPeer: Int = 0,
        proxies: TrustedProxies = .none
    ) {
        self.deadlines = deadlines
        self.connections = connections
        self.perPeer = perPeer
        self.proxies = proxies
    }
}

/// The connections that a server has accepted and that are open, within their limits.
///
/// At the limit, connections without a request are closed to make room (decision 23): a client that sends a request gets in, and
/// a flood of silent connections displaces itself.
final class OpenConnections: Sendable {
    private struct Entry {
        let channel: any Channel
        let rank: ConnectionDeadlines.Rank
    }

    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        var peers: [IPAddress: Int] = [:]
        /// Were asked to make room, and have not gone yet.
        var leaving: Set<ObjectIdentifier> = []
        /// The last time that no connection could be closed for a new one.
        var allBusy: ContinuousClock.Instant?
        var warned: ContinuousClock.Instant?

        var staying: Int { self.entries.count - self.leaving.count }
    }

    private let limits: ConnectionLimits
    private let logger: Logger
    private let state = NIOLockedValueBox(State())

    init(_ limits: ConnectionLimits = ConnectionLimits(), logger: Logger) {
        self.limits = limits
        self.logger = logger
    }

    /// Admits a connection, and may close others to make room.
    ///
    /// - Returns: Whether it is admitted; otherwise it is to be closed.
    func admit(_ channel: any Channel, rank: ConnectionDeadlines.Rank) -> Bool {
        let id = ObjectIdentifier(channel)
        let peer = self.peer(of: channel)
        let (refusal, victims) = self.state.withLockedValue { state -> (String?, [Victim]) in
            if let peer, state.peers[peer, default: 0] >= self.limits.perPeer { return ("peer", []) }
            let victims = self.victims(&state)
            state.leaving.formUnion(victims.map(\.id))
            guard state.staying < self.limits.connections else { return ("full", []) }
            state.entries[id] = Entry(channel: channel, rank: rank)
            if let peer { state.peers[peer, default: 0] += 1 }
            return (nil, victims)
        }
        if let refusal {
            self.report(refusal)
            return false
        }
        channel.closeFuture.whenComplete { _ in self.remove(id, peer) }
        if !victims.isEmpty { self.report("evicted", victims.count) }
        for victim in victims {
            let event = ConnectionDeadlines.MakeRoom { self.stays(victim.id) }
            victim.channel.pipeline.fireUserInboundEventTriggered(event)
        }
        return true
    }

    private typealias Victim = (id: ObjectIdentifier, channel: any Channel)

    /// Several at a time, because finding them looks at all connections.
    private func victims(_ state: inout State) -> [Victim] {
        guard state.staying >= self.limits.connections else { return [] }
        if let allBusy = state.allBusy, allBusy.duration(to: .now) < .milliseconds(20) { return [] }
        var waiting: [(order: UInt64, victim: Victim)] = []
        for (id, entry) in state.entries where !state.leaving.contains(id) {
            if let order = entry.rank.order { waiting.append((order, (id, entry.channel))) }
        }
        state.allBusy = waiting.isEmpty ? .now : nil
        return waiting.sorted { $0.order < $1.order }.prefix(max(1, self.limits.connections / 64)).map(\.victim)
    }

    private func stays(_ id: ObjectIdentifier) { self.state.withLockedValue { _ = $0.leaving.remove(id) } }

    private func remove(_ id: ObjectIdentifier, _ peer: IPAddress?) {
        self.state.withLockedValue { state in
            state.entries[id] = nil
            state.leaving.remove(id)
            guard let peer, let count = state.peers[peer] else { return }
            state.peers[peer] = count > 1 ? count - 1 : nil
        }
    }

    /// Asks each to close after its requests in progress: HTTP/1.1 with `Connection: close`, HTTP/2 with GOAWAY.
    func askToEnd() {
        for entry in self.state.withLockedValue({ Array($0.entries.values) }) {
            entry.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
    }

    private func peer(of channel: any Channel) -> IPAddress? {
        guard self.limits.perPeer > 0, let address = channel.remoteAddress.flatMap(IPAddress.init),
            !self.limits.proxies.contains(address)
        else { return nil }
        return address.client
    }

    // MARK: Reporting

    /// Counts connections that the server closed, and warns of too many once a minute.
    func report(_ reason: String, _ count: Int = 1) {
        MetricDescription.httpConnectionsEnded.counter([.reason: reason]).increment(by: count)
        let words: Logger.Message
        switch reason {
        case "full": words = "The connection limit is reached and all connections are busy: new ones are closed"
        case "evicted": words = "The connection limit is reached: connections without a request are closed to make room"
        case "peer": words = "One address has reached its connection limit: its new connections are closed"
        default: return
        }
        let mayWarn = self.state.withLockedValue { state in
            if let last = state.warned, last.duration(to: .now) < .seconds(60) { return false }
            state.warned = .now
            return true
        }
        if mayWarn { self.logger.warning(words, metadata: ["connections": "\(self.limits.connections)"]) }
    }
}
