import Logging
import Store
import StoreKit
import StoreSQL

/// What the servers of a store say of themselves, asked as the programs' role.
struct ServerExamination {
    enum State: Equatable {
        /// It takes writes.
        case primary(timeline: Int64)
        case standby
        case unreachable(String)
    }

    struct Server: Equatable {
        let name: String
        let state: State
        /// Its `sslmode`, where that lets another host take its place.
        var weakMode: String?
    }

    /// What holds the rows that others have removed or changed.
    struct Holder: Equatable {
        /// Such as `a session of backup (pg_dump)`.
        let name: String
        let seconds: Int64
    }

    /// What the server says that the programs would write to.
    struct Primary: Equatable {
        var version = ""
        /// The version of the store's tables; nil = there are none.
        var tables: Int?
        var synchronousStandbyNames = ""
        var synchronousCommit = "on"
        var fsync = true
        /// Whether nobody stands between, who passes on what we send.
        var isDirect = true
        /// Whether the settings that we send with a connection hold.
        var hasOurSettings = true
        var role = ""
        /// Whether the role sees what other roles' sessions do.
        var seesOthers = true
        var oldest: Holder?
        /// A replication slot that nobody reads.
        var idleSlot: String?
    }

    var servers: [Server]
    /// nil = no server takes writes.
    var primary: Primary?

    /// Asks all servers, and the primary more; blocks the thread.
    ///
    /// - Parameters:
    ///   - addresses: Where they are.
    ///   - deadlines: How long is waited for them.
    ///   - logger: The store's.
    init(_ addresses: ServerAddresses, deadlines: Deadlines = Deadlines(), logger: Logger) {
        let servers = Servers(addresses, deadlines, logger: logger)
        let answers = servers.ask(until: .now + deadlines.read)
        self.servers = answers.map { answer in
            let state: State =
                switch answer.candidate {
                case .success(let found?): .primary(timeline: found.timeline)
                case .success(nil): .standby
                case .failure(.lost(let reason, _)): .unreachable(reason)
                case .failure(let fault): .unreachable("\(fault.ofRead)")
                }
            let name = addresses.name(of: answer.server)
            return Server(name: name, state: state, weakMode: addresses.weakMode(of: answer.server))
        }
        self.servers.sort { $0.name < $1.name }
        let candidates = answers.compactMap { try? $0.candidate.get() }
        guard let wire = candidates.max(by: { $0.timeline < $1.timeline })?.wire else { return }
        let end = ContinuousClock.now + deadlines.read
        do { self.primary = try Primary(wire, until: end) } catch {
            let reason = (error as? WireFault)?.ofRead ?? error
            self.servers.append(Server(name: "the primary", state: .unreachable("\(reason)")))
        }
    }

    /// Of a test.
    init(servers: [Server], primary: Primary? = nil) { (self.servers, self.primary) = (servers, primary) }
}

extension ServerExamination.Primary {
    fileprivate init(_ wire: Wire, until deadline: ContinuousClock.Instant) throws {
        self.tables = try Schema.found(wire, until: deadline)?.number
        let answers = try wire.exchange([Self.settings, Self.oldest, Self.idleSlot], until: deadline)
        guard let row = answers[0].rows.first else {
            throw StoreError(.corrupt, "PostgreSQL does not tell its settings")
        }
        self.version = try row["version"]
        self.synchronousStandbyNames = try row["standbys"]
        self.synchronousCommit = try row["durability"]
        self.fsync = try row["fsync"] == "on"
        self.isDirect = try row["pid"] == Int64(wire.backendPID)
        self.hasOurSettings = try row["plans"] == "force_generic_plan"
        self.role = try row["role"]
        self.seesOthers = try row["sees_others"]
        self.oldest = try answers[1].rows.first.map { row in
            ServerExamination.Holder(name: try row["name"], seconds: try row["seconds"])
        }
        self.idleSlot = try answers[2].rows.first?["name"]
    }

    private static let settings = PostgreSQLStatement(
        """
        SELECT current_setting('server_version') AS version, current_setting('synchronous_standby_names') AS standbys,
            current_setting('synchronous_commit') AS durability, current_setting('fsync') AS fsync,
            pg_backend_pid()::bigint AS pid, current_setting('plan_cache_mode') AS plans, current_user::text AS role,
            pg_has_role('pg_read_all_stats', 'USAGE') AS sees_others
        """
    )

    /// The oldest snapshot or transaction of the database; of other roles' sessions the server tells who may read statistics.
    private static let oldest = PostgreSQLStatement(
        """
        SELECT name, seconds FROM (
            SELECT 'a session of ' || coalesce(usename, '') || coalesce(' (' || nullif(application_name, '') || ')', '') AS name,
                extract(epoch FROM clock_timestamp() - xact_start)::bigint AS seconds
            FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
                AND backend_type = 'client backend' AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)
            UNION ALL SELECT 'the prepared transaction ' || gid, extract(epoch FROM clock_timestamp() - prepared)::bigint
            FROM pg_prepared_xacts WHERE database = current_database()
        ) AS held ORDER BY seconds DESC LIMIT 1
        """
    )

    private static let idleSlot = PostgreSQLStatement(
        "SELECT slot_name::text AS name FROM pg_replication_slots WHERE NOT active ORDER BY slot_name LIMIT 1"
    )
}
