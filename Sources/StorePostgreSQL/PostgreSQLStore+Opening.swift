import Dispatch
package import Logging
import PushModel
import ServiceLifecycle
import Store
import StoreKit
import StoreSQL

extension PostgreSQLStore {
    /// Opens a store whose tables are there, without blocking the caller's thread.
    ///
    /// - Parameters:
    ///   - addresses: Where its servers are.
    ///   - limits: How much is accepted.
    ///   - logger: Says what an operator must know of the servers.
    /// - Returns: The store.
    /// - Throws: ``StoreError``, as ``init(_:clock:limits:deadlines:logger:)``.
    package static func open(
        _ addresses: ServerAddresses,
        limits: JobLimits = JobLimits(),
        logger: Logger
    ) async throws -> PostgreSQLStore {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "pushline.store.open").async {
                continuation.resume(
                    with: Result { try PostgreSQLStore(addresses, limits: limits, logger: logger) }
                )
            }
        }
    }
}

extension PostgreSQLStore: Service {
    /// Waits for the shutdown: what the store does by itself, its connections' threads do.
    package func run() async throws { try await gracefulShutdown() }
}

extension StoreClock {
    /// The clock of an installation on this machine: it goes on from the latest write of any host's, or from the wall clock, whichever is
    /// later.
    ///
    /// - Throws: ``StoreError``; ``WireFault``.
    static func found(_ wire: Wire, until deadline: ContinuousClock.Instant) throws -> StoreClock {
        let latest = PostgreSQLStatement("SELECT coalesce(max(seen), 0) AS seen FROM writer")
        let rows = try wire.exchange([latest], until: deadline)[0].rows
        let (seen, source) = (try rows[0]["seen"] as Int64, try SystemClock())
        return StoreClock(source: source, shift: max(seen, source.wall.milliseconds) - source.sinceBoot)
    }
}
