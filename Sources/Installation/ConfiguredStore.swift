import Foundation
package import Logging
package import ServiceLifecycle
package import Store
import StoreSQLite

/// The store that a configuration names, and what its driver alone can do: the only place that knows which driver it is.
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

    /// What the processes of this host that have it share a port by.
    package var portClaim: PortClaim { PortClaim(base: self.settings.path) }

    /// Opens the store, and brings its tables up to date.
    ///
    /// - Parameter logger: Gets the store's words.
    /// - Returns: The store; as a service it keeps its log short.
    /// - Throws: ``ConfigurationError`` where it cannot be opened.
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

    /// Puts a copy where the store shall be; blocks the thread.
    ///
    /// - Parameter file: What a store wrote as its backup; no store may be there.
    /// - Throws: `StoreError`.
    package func restore(from file: String) throws { try SQLiteStore.restore(file, to: self.settings.path) }

    /// Reads all of what the store is kept in.
    ///
    /// - Parameter logger: Gets the store's words.
    /// - Returns: A line for each fault; empty = none.
    /// - Throws: `StoreError`; ``ConfigurationError`` where the store cannot be opened.
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
