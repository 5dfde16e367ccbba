import Dispatch
package import Logging
import ServiceLifecycle
import Store
import StoreKit

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
