import Foundation
package import Logging
package import ServiceLifecycle
package import Settings
package import Store
package import StoreKit
import StoreSQLite

/// The configured store, and the operations of its driver.
///
/// The only place that knows the driver.
package struct ConfiguredStore: Sendable {
    private let settings: StoreSettings

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

    /// Writes a copy of the store as it is now, while everything runs; blocks the thread.
    ///
    /// - Parameter file: Where the copy shall be: nothing may be there.
    /// - Throws: `StoreError`.
    package func backUp(to file: String) throws { try SQLiteStore.backUp(self.settings.path, to: file) }

    /// Restores a backup as the store; blocks the thread.
    ///
    /// - Parameters:
    ///   - file: A backup written by a store of this version or an older one. No store may exist at the configured path.
    ///   - isStopping: Whether the sends that were under way are cancelled.
    /// - Returns: What was under way; nil of an older backup.
    /// - Throws: `StoreError`.
    package func restore(from file: String, stoppingUnfinished isStopping: Bool) throws -> UnfinishedSends? {
        try SQLiteStore.restore(file, to: self.settings.path, stoppingUnfinished: isStopping)
    }

    /// What the store's tables lack of this program's; blocks the thread.
    ///
    /// - Returns: The version found, and the steps in order, the last of which leads to this program's version.
    /// - Throws: `StoreError` where no steps lead from there.
    package func pendingSteps() throws -> (found: SchemaVersion, steps: ArraySlice<SchemaStep>) {
        try SQLiteStore.pendingSteps(self.driverSettings)
    }

    /// Refuses a step that contracts while an older program has the store open; ``takeStep(to:)`` asks again.
    package func checkOlderPrograms(before number: Int) throws {
        try SQLiteStore.checkOlderPrograms(before: number, self.driverSettings)
    }

    /// Takes the next step of the store's schema, in one transaction; blocks the thread.
    ///
    /// - Parameter number: The version to which it leads.
    /// - Throws: `StoreError`; a conflict where an older program uses what the step takes away.
    package func takeStep(to number: Int) throws { try SQLiteStore.takeStep(to: number, self.driverSettings) }

    /// Checks the store's files completely.
    ///
    /// - Parameter logger: The store's logger.
    /// - Returns: A line for each fault; empty = none.
    /// - Throws: `StoreError`; ``ConfigurationError`` if the store cannot be opened.
    package func check(logger: Logger) async throws -> [String] {
        try await self.openFile(logger: logger).checkFile().map { "file: \($0)" }
    }

    private var driverSettings: SQLiteStore.Configuration {
        SQLiteStore.Configuration(
            path: self.settings.path,
            maximumBacklog: self.settings.backlog,
            reserve: self.settings.reserve
        )
    }

    private func openFile(logger: Logger) async throws -> SQLiteStore {
        do {
            return try await SQLiteStore.open(self.driverSettings, logger: logger)
        } catch let error as StoreError {
            throw ConfigurationError("store.path: \(self.settings.path) cannot be opened: \(error.message)")
        }
    }
}
