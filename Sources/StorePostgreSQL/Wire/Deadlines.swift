/// How long is waited for a server.
package struct Deadlines: Sendable {
    /// For a connection to each address of a server's, and for what it says of itself.
    package var connect = Duration.seconds(2)
    /// For a read, with the waiting for a connection and its repetitions; and for a connection, by whoever writes.
    package var read = Duration.seconds(10)
    /// For a commit, which waits for a standby that is cut off as long as the server does.
    ///
    /// None is ever cancelled: that would make it visible before a standby has it.
    package var commit = Duration.seconds(12)
    /// For a write, until it is found out what became of it.
    package var resolution = Duration.seconds(30)
    /// How long an acknowledged write proves that its server is the primary, so that what is read there counts.
    package var proof = Duration.seconds(12)
    /// After which time without another write a process writes a row of its own.
    package var heartbeat = Duration.seconds(4)

    package init() {}
}

extension Servers {
    enum Purpose {
        case work
        case migration

        /// What holds for the session, as libpq's parameter `options`.
        ///
        /// Each statement sees what others had committed when it began: what is looked at behind a lock is not older than the lock. A
        /// server whose client is gone in the middle of a transaction learns of it, and gives the rows that it holds free; one that does
        /// not read for a while has longer than any deadline of ours. No statement's time includes its commit. A plan is made once for all
        /// values, and goes by the indexes: one that is made while a table is empty would walk through it when it is full.
        func settings(_ deadlines: Deadlines) -> String {
            switch self {
            case .work:
                """
                -c default_transaction_isolation=read\\ committed \
                -c tcp_keepalives_idle=2 -c tcp_keepalives_interval=1 -c tcp_keepalives_count=3 -c tcp_user_timeout=15000 \
                -c statement_timeout=\(Int(deadlines.read / .milliseconds(1)) * 9 / 10) -c idle_in_transaction_session_timeout=5s \
                -c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off \
                -c max_parallel_workers_per_gather=0 -c jit=off
                """
            case .migration: "-c statement_timeout=0"
            }
        }
    }
}
