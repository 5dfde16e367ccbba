package import Logging
package import Store
import StoreKit

extension ServerAddresses {
    /// Asks the servers what an operator must know of them; blocks the thread.
    ///
    /// - Parameter logger: The store's.
    /// - Returns: What was seen.
    package func examine(logger: Logger) -> [StoreObservation] {
        ServerExamination(self, logger: logger).observations
    }
}

/// In people's words: what is so, what it costs, and what to do.
extension ServerExamination {
    /// How old a snapshot may be: changes of rows pile up behind it.
    fileprivate static let oldSnapshot = 60

    var observations: [StoreObservation] {
        let ofPrimary = self.primary.map { primary in
            [
                self.versions(primary), self.commits(primary), primary.fsyncFault, primary.pooler, primary.snapshots,
                primary.slots,
            ].compactMap(\.self)
        }
        return self.servers.map(self.state) + self.several + self.modes + (ofPrimary ?? [])
    }

    private func state(_ server: Server) -> StoreObservation {
        let subject = "PostgreSQL server"
        switch server.state {
        case .primary(let timeline):
            let words = timeline > 0 ? "timeline \(timeline)" : "and does not tell its timeline"
            return .right(subject, "\(server.name): takes writes, \(words)")
        case .standby: return .right(subject, "\(server.name): is a standby")
        case .unreachable(let reason):
            let cost = self.servers.count > 1 ? "one server less can take over; " : ""
            return .wrong(subject, "\(server.name): \(reason); \(cost)\(Self.remedy(for: reason))")
        }
    }

    /// Two primaries, as a failover leaves them whose old one has not heard of it.
    private var several: [StoreObservation] {
        let primaries = self.servers.compactMap { server in
            if case .primary(let timeline) = server.state { (name: server.name, timeline: timeline) } else { nil }
        }
        guard primaries.count > 1, let latest = primaries.map(\.timeline).max() else { return [] }
        let names = primaries.map(\.name).joined(separator: ", ")
        let older = primaries.filter { $0.timeline < latest }.map(\.name)
        let words =
            older.isEmpty
            ? "take writes on one timeline: they are not the servers of one store, and which of them is written to is "
                + "chance; name one store's in store.url"
            : "take writes: a failover has left \(older.joined(separator: ", ")), and a program that does not reach the "
                + "other one works there; end it, and make it a standby (pg_rewind)"
        return [.wrong("PostgreSQL servers", "\(names) \(words)")]
    }

    private var modes: [StoreObservation] {
        self.servers.compactMap { server in
            server.weakMode.map { mode in
                StoreObservation.wrong(
                    "PostgreSQL TLS",
                    "\(server.name): sslmode=\(mode) does not check the server's identity, so a host in between can read and "
                        + "changes everything: give it a certificate of its name, and store.url sslmode=verify-full "
                        + "with sslrootcert"
                )
            }
        }
    }

    private func versions(_ primary: Primary) -> StoreObservation {
        let server = "PostgreSQL \(primary.version)"
        guard let tables = primary.tables else {
            let advice = "pushline store migrate --owner ROLE --password-file FILE makes them"
            return .wrong("PostgreSQL tables", "\(server), and no tables of a store's: \(advice)")
        }
        let own = "this pushline has \(Schema.plan.version)"
        return .right("PostgreSQL tables", "\(server), tables of version \(tables) (\(own))")
    }

    private func commits(_ primary: Primary) -> StoreObservation {
        let subject = "PostgreSQL commits"
        let setting = "synchronous_commit is \(primary.synchronousCommit)"
        let names = primary.synchronousStandbyNames
        if primary.synchronousCommit == "off" {
            let cost = "a crash of the server loses what was acknowledged in the last second, and pushes go out twice"
            return .wrong(subject, "\(setting): \(cost); set it to on")
        }
        guard !names.isEmpty else {
            let cost =
                "with the server the latest acknowledged sends are lost, and an old one that is cut off goes on taking others"
            let words = "no standby is synchronous: \(cost); name standbys in synchronous_standby_names"
            // With one server nobody expects another to have everything.
            return self.servers.count > 1
                ? .wrong(subject, words) : .note(subject, "\(words), where that is not enough")
        }
        guard primary.synchronousCommit != "local" else {
            let cost = "commits do not wait for the standbys (\(names)), so a failover loses acknowledged sends"
            return .wrong(subject, "\(setting): \(cost); set it to on")
        }
        return .right(subject, "\(setting), and they wait for \(names)")
    }
}

extension ServerExamination.Primary {
    fileprivate var fsyncFault: StoreObservation? {
        guard !self.fsync else { return nil }
        return .wrong("PostgreSQL commits", "fsync is off: a power cut may ruin the whole database; set it to on")
    }

    fileprivate var pooler: StoreObservation? {
        guard !self.isDirect || !self.hasOurSettings else { return nil }
        let cost =
            self.hasOurSettings
            ? "it may go over to another server without our knowing, so that a read is older than a write"
            : "it drops the settings that we send, so statements may walk through whole tables"
        let words = "something stands between and passes connections on: \(cost)"
        return .wrong("PostgreSQL pooler", "\(words); name the servers themselves in store.url")
    }

    fileprivate var snapshots: StoreObservation {
        let subject = "PostgreSQL snapshots"
        let unseen =
            self.seesOthers
            ? "" : "; what other roles hold is not shown to \(self.role): GRANT pg_read_all_stats TO \(self.role)"
        guard let oldest, oldest.seconds > ServerExamination.oldSnapshot else {
            let words = self.oldest.map { "the oldest is \($0.seconds) s old" } ?? "none is held"
            return .right(subject, words + unseen)
        }
        let cost = "until it ends no changed row is cleaned away, and all gets slower by the minute"
        let advice = "end it (pg_terminate_backend, ROLLBACK PREPARED)"
        return .wrong(subject, "\(oldest.name) is open for \(oldest.seconds) s: \(cost); \(advice)\(unseen)")
    }

    fileprivate var slots: StoreObservation? {
        self.idleSlot.map { name in
            StoreObservation.wrong(
                "PostgreSQL slots",
                "the replication slot \(name) is not read: the server keeps its log for it until the disk is full; "
                    + "start the reader, or SELECT pg_drop_replication_slot('\(name)')"
            )
        }
    }
}
