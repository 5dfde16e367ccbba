import Foundation
import Logging
import ServiceLifecycle
import Settings
import Store
import StoreKit
import StoreSQLite

/// A store in a SQLite file of this host.
struct FileStore: ConfiguredStore {
    private let file: SQLiteStore.Configuration

    init(_ settings: StoreSettings) {
        self.file = SQLiteStore.Configuration(
            path: settings.path ?? "",
            maximumBacklog: settings.backlog,
            reserve: settings.reserve
        )
    }

    var place: String { URL(filePath: self.file.path).path(percentEncoded: false) }

    var metadata: Logger.Metadata { ["store.path": "\(self.place)"] }

    var advice: StoreAdvice {
        StoreAdvice(
            setting: "store.path or PUSHLINE_STORE_PATH",
            whenUnavailable: "is the disk full, or does the file belong to another user?",
            whenCorrupt: "pushline store check says more, and pushline store restore restores a backup",
            backup: nil,
            files: nil
        )
    }

    var exists: Bool { FileManager.default.fileExists(atPath: self.file.path) }

    var portClaim: PortClaim { PortClaim(base: self.file.path) }

    func open(logger: Logger) async throws -> any ResultStore & Service { try await self.openFile(logger: logger) }

    func backUp(to file: String) throws { try SQLiteStore.backUp(self.file.path, to: file) }

    func restore(from file: String, stoppingUnfinished isStopping: Bool, by act: NewAct) throws -> UnfinishedSends? {
        try SQLiteStore.restore(file, to: self.file.path, stoppingUnfinished: isStopping, by: act)
    }

    func pendingSteps(as owner: TableOwner?) throws -> (found: SchemaVersion, steps: ArraySlice<SchemaStep>) {
        try self.refuse(owner)
        return try SQLiteStore.pendingSteps(self.file)
    }

    func checkOlderPrograms(before number: Int) throws {
        try SQLiteStore.checkOlderPrograms(before: number, self.file)
    }

    func takeStep(to number: Int, as owner: TableOwner?, by act: NewAct) throws {
        try self.refuse(owner)
        try SQLiteStore.takeStep(to: number, self.file, by: act)
    }

    func checkFiles(logger: Logger) async throws -> [String] {
        try await self.openFile(logger: logger).checkFile().map { "file: \($0)" }
    }

    func examine(logger: Logger) -> [StoreObservation] { [] }

    private func refuse(_ owner: TableOwner?) throws(StoreError) {
        guard owner == nil else { throw StoreError(.conflict, "a file has no roles: use --owner only with store.url") }
    }

    private func openFile(logger: Logger) async throws -> SQLiteStore {
        do {
            return try await SQLiteStore.open(self.file, logger: logger)
        } catch let error as StoreError {
            throw ConfigurationError("store.path: \(self.file.path) cannot be opened: \(error.message)")
        }
    }
}
