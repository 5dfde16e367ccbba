import Foundation
package import Logging
package import ServiceLifecycle
package import Store
import StoreSQLite

/// The configured store, and the operations of its driver.
///
/// The only place that knows the driver.
package struct ConfiguredStore: Sendable {
    private let settings: PushlineConfiguration.Store

    package init(_ configuration: PushlineConfiguration) { self.settings = configuration.store }

    /// Where it is, in people's words.
    package var place: String { URL(filePath: self.settings.path).path(percentEncoded: false) }

    /// Where it is, for the log.
    package var metadata: Logger.Metadata { ["store.path": "\(self.place)"] }

    /// How to name another one, in people's words.
    package var setting: String { "store.path or PUSHLINE_STORE_PATH" }

    /// Whether there is one: opening makes it.
    package var exists: Bool { FileManager.default.fileExists(atPath: self.settings.path) }

    /// The claim by which processes of this host with this store share a port.
    package var portClaim: PortClaim { PortClaim(base: self.settings.path) }

    /// Opens the store, and creates its tables in a new file.
    ///
    /// - Parameter logger: The store's logger.
    /// - Returns: The store; as a service it checkpoints its log.
    /// - Throws: ``ConfigurationError`` if it cannot be opened.
    package func open(logger: Logger) async throws -> any ResultStore & Service {
        try await self.openFile(logger: logger)
    }

    /// Writes a copy of the store as it is now, while everything runs.
    ///
    /// - Parameters:
    ///   - file: Where the copy shall be: nothing may be there.
    ///   - logger: Gets the store's words.
    /// - Throws: `StoreError`; ``ConfigurationError`` where the store cannot be opened.
    package func backUp(to file: String, logger: Logger) async throws {
        try await self.openFile(logger: logger).backUp(to: file)
    }

    /// Restores a backup as the store; blocks the thread.
    ///
    /// - Parameter file: A backup written by a store. No store may exist at the configured path.
    /// - Throws: `StoreError`.
    package func restore(from file: String) throws { try SQLiteStore.restore(file, to: self.settings.path) }

    /// Checks the store's files completely.
    ///
    /// - Parameter logger: The store's logger.
    /// - Returns: A line for each fault; empty = none.
    /// - Throws: `StoreError`; ``ConfigurationError`` if the store cannot be opened.
    package func check(logger: Logger) async throws -> [String] {
        try await self.openFile(logger: logger).checkFile().map { "file: \($0)" }
    }

    private func openFile(logger: Logger) async throws -> SQLiteStore {
        do {
            return try await SQLiteStore.open(
                SQLiteStore.Configuration(
                    path: self.settings.path,
                    maximumBacklog: self.settings.backlog,
                    reserve: self.settings.reserve
                ),
                logger: logger
            )
        } catch let error as StoreError {
            throw ConfigurationError("store.path: \(self.settings.path) cannot be opened: \(error.message)")
        }
    }
}
