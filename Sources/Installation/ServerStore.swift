import Crypto
import Foundation
import Logging
import ServiceLifecycle
import Settings
import Store
import StoreKit
import StorePostgreSQL

/// A store at the servers of a PostgreSQL, which many hosts share.
struct ServerStore: ConfiguredStore {
    private let settings: StoreSettings
    private let addresses: Result<ServerAddresses, StoreError>

    init(url: String, _ settings: StoreSettings) {
        self.settings = settings
        self.addresses = Result { () throws(StoreError) in
            try ServerAddresses(url, passwordFile: settings.passwordFile)
        }
    }

    /// An address that cannot be read is not repeated: it may hold a password.
    var place: String { (try? self.addresses.get().description) ?? "store.url" }

    var metadata: Logger.Metadata { ["store.url": "\(self.place)"] }

    var advice: StoreAdvice {
        StoreAdvice(
            setting: "store.url or PUSHLINE_STORE_URL",
            whenUnavailable: "check that its servers run and let this host and role in (pg_hba.conf)",
            whenCorrupt: "its log and pg_amcheck say more; restore it from a backup of PostgreSQL's own",
            backup:
                "PostgreSQL makes its own backups (pg_basebackup with an archive of the log, or pg_dump): docs/operations.md",
            files: "PostgreSQL checks its own files (pg_amcheck, data checksums)"
        )
    }

    /// Nothing is made by opening it.
    var exists: Bool { true }

    /// Hosts do not share ports, and their processes share no file of the store's: so there is a folder for the locks.
    var portClaim: PortClaim {
        let folder = self.settings.lockFolder.map { URL(filePath: $0) } ?? FileManager.default.temporaryDirectory
        let digest = SHA256.hash(data: Data(self.place.utf8)).prefix(8).map { String(format: "%02x", $0) }.joined()
        return PortClaim(base: folder.appending(path: "pushline-\(digest)").path(percentEncoded: false))
    }

    func open(logger: Logger) async throws -> any ResultStore & Service {
        let limits = JobLimits(backlog: self.settings.backlog)
        let addresses = try self.servers()
        do {
            return try await PostgreSQLStore.open(addresses, limits: limits, logger: logger)
        } catch let error as StoreError {
            throw ConfigurationError("store.url: \(self.place) cannot be opened: \(error.message)")
        }
    }

    func backUp(to file: String) throws { throw self.ownBackups }

    func restore(from file: String, stoppingUnfinished isStopping: Bool, by act: NewAct) throws -> UnfinishedSends? {
        throw self.ownBackups
    }

    func pendingSteps(as owner: TableOwner?) throws -> (found: SchemaVersion, steps: ArraySlice<SchemaStep>) {
        func steps() throws -> (found: SchemaVersion, steps: ArraySlice<SchemaStep>) {
            try Migrator(self.servers(as: owner)).pendingSteps()
        }
        return try owner?.askingForPassword(steps) ?? steps()
    }

    func checkOlderPrograms(before number: Int) throws {
        try Migrator(self.servers()).checkOlderPrograms(before: number)
    }

    func takeStep(to number: Int, as owner: TableOwner?, by act: NewAct) throws {
        guard let owner else {
            throw ConfigurationError(
                "the tables belong to a role of their own, not to that of store.url: --owner names it"
            )
        }
        guard let programs = try self.servers().role else {
            throw ConfigurationError("store.url names no role for the programs: postgresql://ROLE@HOST/DATABASE")
        }
        try Migrator(self.servers(as: owner)).takeStep(to: number, programs: programs, by: act)
    }

    func checkFiles(logger: Logger) async throws -> [String] { [] }

    func examine(logger: Logger) -> [StoreObservation] { (try? self.addresses.get().examine(logger: logger)) ?? [] }

    private var ownBackups: StoreError { StoreError(.conflict, self.advice.backup ?? "") }

    private func servers(as owner: TableOwner? = nil) throws -> ServerAddresses {
        do throws(StoreError) {
            let addresses = try self.addresses.get()
            return owner.map { addresses.connecting(as: $0.role, passwordFile: $0.passwordFile) } ?? addresses
        } catch { throw ConfigurationError("store.url: \(error.message)") }
    }
}
