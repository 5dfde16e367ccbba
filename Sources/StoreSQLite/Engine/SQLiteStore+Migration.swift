import Foundation
import GRDB
package import Store
package import StoreKit

extension SQLiteStore {
    /// What the tables of a store's file lack of this program's; blocks the thread.
    ///
    /// - Returns: The version found, and the steps in order; no step where the program can open the store.
    /// - Throws: ``StoreError`` where no steps lead from there.
    package static func pendingSteps(
        _ configuration: Configuration
    ) throws -> (found: SchemaVersion, steps: ArraySlice<SchemaStep>) {
        do {
            let found = try Self.connection(configuration.path).inDatabase {
                try Self.version(in: Database($0), configuration.schema)
            }
            return (found, configuration.schema.steps(after: found))
        } catch let error as DatabaseError {
            throw StoreError(error)
        }
    }

    /// Takes the next step of a store's schema; blocks the thread.
    ///
    /// The whole step is one transaction, so that a process that dies in it has done nothing. Others' writes wait for it.
    ///
    /// - Parameters:
    ///   - number: The version to which the step leads; nothing is done where another process has taken it.
    ///   - configuration: How the store is opened.
    ///   - act: The act that it is; its entry is written with the step.
    /// - Throws: ``StoreError``; a conflict where the step contracts and an older program has the store open.
    package static func takeStep(to number: Int, _ configuration: Configuration, by act: NewAct? = nil) throws {
        let users = try FileLock(path: configuration.path + ".users")
        guard users.tryLockShared() else { throw StoreError(.unavailable, "a backup is being restored") }
        let lock = try FileLock(path: configuration.path + ".writer")
        let waiting = try FileLock(path: configuration.path + ".waiting")
        do {
            try lock.withLock(within: Self.migrationWait, waiting: waiting) {
                // Whoever opens the store needs the same lock: none can come in between.
                try Self.checkOlderPrograms(before: number, configuration)
                try Self.connection(configuration.path).inDatabase { connection in
                    try Database(connection).writing { database in
                        let found = try Self.version(in: database, configuration.schema)
                        guard found.number == number - 1 else { return }
                        try Schema.take(number, of: configuration.schema, after: found, in: database, by: act)
                    }
                }
            }
        } catch let error as DatabaseError {
            throw StoreError(error)
        }
    }

    /// Refuses a step that contracts while a program that needs what it takes away has the store open.
    package static func checkOlderPrograms(before number: Int, _ configuration: Configuration) throws {
        guard configuration.schema.contracts(number) else { return }
        for older in 1..<number {
            let lock = Self.versionLock(older, of: configuration.path)
            guard try !FileManager.default.fileExists(atPath: lock) || FileLock(path: lock).isFree else {
                throw SchemaPlan.inUse(number, by: older)
            }
        }
    }

    /// The lock of the programs of one version of the schema.
    static func versionLock(_ version: Int, of path: String) -> String { "\(path).schema-\(version)" }

    /// Refuses tables that a program of a plan cannot work with, and says what to do.
    static func check(_ found: Schema.Found, _ plan: SchemaPlan) throws(StoreError) {
        let words: String? =
            switch found {
            case .none: nil
            case .foreign:
                "it was made before version 0.1.0, from which no steps lead: export its registrations with the program that made it, then move "
                    + "the file away with its -wal and -shm, or set another store.path"
            case .version(let found): plan.refusal(of: found)
            }
        if let words { throw StoreError(.unavailable, words) }
    }

    private static func version(in database: Database, _ plan: SchemaPlan) throws -> SchemaVersion {
        let found = try Schema.found(in: database)
        guard case .version(let version) = found else {
            try Self.check(found, plan)
            throw StoreError(.unavailable, "it has no tables")
        }
        if plan.fit(version) == .ahead { try Self.check(found, plan) }
        return version
    }

    /// How long a step waits for the writes of others.
    private static let migrationWait = Duration.seconds(60)
}
