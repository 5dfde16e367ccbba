import Logging
import NIOConcurrencyHelpers
import Store
import StoreSQL

/// Finds the server that takes writes, for all connections of a process.
///
/// After a failover two servers may take writes for a while, the old one too: each promotion begins a timeline, whose number is higher.
/// So all servers are asked, the one with the highest timeline is taken, and what was seen once is never gone back behind.
final class Servers: Sendable {
    /// A connection, and of which time it is.
    struct Connection {
        let wire: Wire
        /// It is over where it is not that of ``Servers/generation``.
        let generation: Int
    }

    private struct State {
        var timeline: Int64 = 0
        var generation = 0
        /// When the latest write was sent that a server of this generation has acknowledged.
        var acknowledged: ContinuousClock.Instant?
        /// Whether the log has it that commits are not safe.
        var hasWarned = false
        /// Whether it has it that the clock is behind.
        var isBehind = false
        /// Why the tables are not for this program, as the log has it.
        var refusal: String?

        mutating func begin() { (self.generation, self.acknowledged) = (self.generation + 1, nil) }
    }

    /// An address of a server's; nil = as libpq finds it.
    private struct Endpoint {
        let server: Int
        let address: String?
    }

    /// What an address of a server's says, or why it says nothing.
    struct Answer {
        /// The server's place among the addresses.
        let server: Int
        /// nil = the server takes no writes.
        let candidate: Result<Candidate?, WireFault>
    }

    /// A server that takes writes.
    struct Candidate {
        let wire: Wire
        /// 0 = the server does not tell it.
        let timeline: Int64
        /// The setting `synchronous_commit`.
        let durability: String
    }

    let deadlines: Deadlines
    let logger: Logger
    private let addresses: ServerAddresses
    private let purpose: Purpose
    private let state: NIOLockedValueBox<State>

    /// - Parameters:
    ///   - addresses: Where they are.
    ///   - deadlines: How long is waited for them.
    ///   - purpose: What the connections are for.
    ///   - timeline: The highest that is known.
    ///   - logger: Says what an operator must know of them.
    init(
        _ addresses: ServerAddresses,
        _ deadlines: Deadlines,
        _ purpose: Purpose = .work,
        timeline: Int64 = 0,
        logger: Logger = Logger(label: "pushline.store")
    ) {
        (self.addresses, self.deadlines, self.purpose, self.logger) = (addresses, deadlines, purpose, logger)
        self.state = NIOLockedValueBox(State(timeline: timeline))
    }

    /// Connections that are older are not to be used: theirs may be a server that is the primary no more.
    var generation: Int { self.state.withLockedValue { $0.generation } }

    /// A connection was lost, or was given up: with it go all others of its time, for reads are not to be older than writes.
    func lost(_ generation: Int) {
        self.state.withLockedValue { if $0.generation == generation { $0.begin() } }
    }

    /// A write was acknowledged over a connection of that generation, and was sent then.
    func acknowledged(_ generation: Int, sent: ContinuousClock.Instant) {
        self.state.withLockedValue { state in
            guard state.generation == generation else { return }
            state.acknowledged = max(sent, state.acknowledged ?? sent)
        }
    }

    /// Whether a server of that generation has acknowledged a write that was sent so recently; a primary that was replaced does not.
    func isProven(_ generation: Int, within time: Duration) -> Bool {
        let now = ContinuousClock.now
        return self.state.withLockedValue { state in
            state.generation == generation && state.acknowledged.map { now - $0 <= time } ?? false
        }
    }

    /// Says once that this process's clock is behind those of others: to these its leases end early.
    func compare(_ now: Int64, with latest: Int64) {
        let isBehind = latest - now > ServerClock.tolerance
        let isNew = self.state.withLockedValue { state in
            defer { state.isBehind = isBehind }
            return isBehind && !state.isBehind
        }
        guard isNew else { return }
        self.logger.warning(
            "This host's clock runs behind those of other hosts; restart its programs",
            metadata: ["seconds": "\((latest - now) / 1000)"]
        )
    }

    /// Says once that a migration has changed the tables meanwhile, so that this program cannot go on; nil = it can.
    func compare(refusal: String?) {
        let isNew = self.state.withLockedValue { state in
            defer { state.refusal = refusal }
            return refusal != state.refusal
        }
        guard let refusal, isNew else { return }
        self.logger.error(
            "The store's tables are not for this program any more; it waits until it is updated",
            metadata: ["error": "\(refusal)"]
        )
    }

    /// Connects to the server that takes writes.
    ///
    /// - Parameter deadline: Until when, the look-up of names included.
    /// - Returns: The connection.
    /// - Throws: ``StoreError``: why none of the servers can be had.
    func connect(until deadline: ContinuousClock.Instant = .now + .seconds(10)) throws(StoreError) -> Connection {
        var generation = self.generation
        var (best, reasons) = (nil as Candidate?, [] as [String])
        for answer in self.ask(until: deadline) {
            let name = self.addresses.name(of: answer.server)
            switch answer.candidate {
            case .success(let found?): if best.map({ $0.timeline < found.timeline }) ?? true { best = found }
            case .success(nil): reasons.append("\(name) takes no writes")
            case .failure(let error): reasons.append("\(name): \(error.ofRead)")
            }
        }
        guard let best else {
            throw StoreError(.unavailable, "no server of the store's can be had: \(reasons.joined(separator: "; "))")
        }
        let known = self.state.withLockedValue { state in
            if best.timeline > state.timeline {
                // Whoever is connected may be connected to the older one.
                if state.timeline > 0 { state.begin() }
                (state.timeline, generation) = (best.timeline, state.generation)
            }
            return state.timeline
        }
        guard best.timeline == known else {
            throw StoreError(
                .unavailable,
                "only a server of timeline \(best.timeline) can be had, and the store is at \(known) already"
            )
        }
        self.warn(of: best.durability)
        return Connection(wire: best.wire, generation: generation)
    }

    /// Asks all servers whether they take writes.
    ///
    /// - Parameter deadline: Until when, the look-up of names included.
    /// - Returns: What each of their addresses says.
    func ask(until deadline: ContinuousClock.Instant) -> [Answer] {
        var answers: [Answer] = []
        let endpoints = self.endpoints(until: deadline, &answers)
        for (place, endpoint) in endpoints.enumerated() {
            let share = min(self.deadlines.connect, (deadline - .now) / (endpoints.count - place))
            let found = Result { () throws(WireFault) in try self.candidate(endpoint, until: .now + share) }
            answers.append(Answer(server: endpoint.server, candidate: found))
        }
        return answers
    }

    /// Where the servers are now, in random order: each address of a name may be another one's.
    private func endpoints(until deadline: ContinuousClock.Instant, _ answers: inout [Answer]) -> [Endpoint] {
        var found: [Endpoint] = []
        for server in self.addresses.servers.indices {
            guard let name = self.addresses.hostName(of: server) else {
                found.append(Endpoint(server: server, address: nil))
                continue
            }
            // As much again is left for the connections.
            let share = (deadline - .now) / (2 * (self.addresses.servers.count - server))
            let end = ContinuousClock.now + min(self.deadlines.connect, share)
            let addresses = HostLookups.system.addresses(of: name, until: end)
            if addresses.isEmpty {
                let fault = WireFault.lost("its name is not known, or was not looked up in time", isSent: false)
                answers.append(Answer(server: server, candidate: .failure(fault)))
            }
            found += addresses.map { Endpoint(server: server, address: $0) }
        }
        return found.shuffled()
    }

    /// Says once that the server acknowledges what a crash may lose.
    private func warn(of durability: String) {
        guard self.purpose == .work, ["off", "local"].contains(durability) else { return }
        let isNew = self.state.withLockedValue { state in
            defer { state.hasWarned = true }
            return !state.hasWarned
        }
        guard isNew else { return }
        self.logger.warning(
            "PostgreSQL acknowledges commits that a crash may lose",
            metadata: ["synchronous_commit": "\(durability)"]
        )
    }

    /// The first digits of the log's present file.
    private static let timeline = "('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint"

    /// - Returns: nil if the server takes no writes.
    private func candidate(
        _ endpoint: Endpoint,
        until deadline: ContinuousClock.Instant
    ) throws(WireFault) -> Candidate? {
        let settings = self.purpose.settings(self.deadlines)
        var parameters: [String: String]
        do { parameters = try self.addresses.parameters(of: endpoint.server, settings: settings) } catch {
            throw .lost(error.message, isSent: false)
        }
        if let address = endpoint.address { parameters["hostaddr"] = address }
        let wire = try Wire.connect(parameters, until: deadline)
        do throws(WireFault) {
            return try self.ask(wire, Self.timeline, deadline)
        } catch .refused(let refusal) where ["42883", "42501", "0A000"].contains(refusal.state) {
            // Some services have no such functions, or not for everybody.
            return try self.ask(wire, "0::bigint", deadline)
        }
    }

    private func ask(
        _ wire: Wire,
        _ timeline: String,
        _ deadline: ContinuousClock.Instant
    ) throws(WireFault) -> Candidate? {
        let question = PostgreSQLStatement(
            """
            SELECT CASE WHEN pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on' THEN NULL
                ELSE \(timeline) END AS timeline, current_setting('synchronous_commit') AS durability
            """
        )
        let answer = try wire.exchange([question] + (self.purpose == .work ? [OpenVersions.own] : []), until: deadline)
        guard let row = answer[0].rows.first else { return nil }
        do throws(StoreError) {
            guard let number = try row["timeline"] as Int64? else { return nil }
            return Candidate(wire: wire, timeline: number, durability: try row["durability"])
        } catch { throw .unreadable(error) }
    }
}
