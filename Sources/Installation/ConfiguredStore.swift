package import Logging
package import ServiceLifecycle
package import Settings
package import Store
package import StoreKit

/// The store that a configuration names, and what its driver does for this host.
package protocol ConfiguredStore: Sendable {
    /// Where it is, in people's words; never with a password.
    var place: String { get }

    /// Where it is, for the log.
    var metadata: Logger.Metadata { get }

    /// What people are told of this kind of store.
    var advice: StoreAdvice { get }

    /// Whether there may be one; a file is not there before it was opened.
    var exists: Bool { get }

    /// The claim by which processes of this host with this store share a port.
    var portClaim: PortClaim { get }

    /// Opens the store, and creates its tables in a new file.
    ///
    /// - Parameter logger: The store's logger.
    /// - Returns: The store; as a service it does what it must do beside the work.
    /// - Throws: ``ConfigurationError`` if it cannot be opened.
    func open(logger: Logger) async throws -> any ResultStore & Service

    /// Writes a copy of the store as it is now, while everything runs; blocks the thread.
    ///
    /// - Parameter file: Where the copy shall be: nothing may be there.
    /// - Throws: `StoreError`, also where ``StoreAdvice/backup`` says who makes them.
    func backUp(to file: String) throws

    /// Restores a backup as the store; blocks the thread.
    ///
    /// - Parameters:
    ///   - file: A backup written by a store of this version or an older one. No store may exist at the configured place.
    ///   - isStopping: Whether the sends that were under way are cancelled.
    ///   - act: The act that it is.
    /// - Returns: What was under way; nil of an older backup.
    /// - Throws: `StoreError`, also where ``StoreAdvice/backup`` says who makes them.
    func restore(from file: String, stoppingUnfinished isStopping: Bool, by act: NewAct) throws -> UnfinishedSends?

    /// What the store's tables lack of this program's; blocks the thread.
    ///
    /// - Parameter owner: Who owns the tables; nil = as the programs see them.
    /// - Returns: The version found, and the steps in order, the last of which leads to this program's version.
    /// - Throws: `StoreError` where no steps lead from there; ``ConfigurationError``.
    func pendingSteps(as owner: TableOwner?) throws -> (found: SchemaVersion, steps: ArraySlice<SchemaStep>)

    /// Refuses a step that contracts while an older program has the store open; ``takeStep(to:as:)`` asks again.
    func checkOlderPrograms(before number: Int) throws

    /// Takes the next step of the store's schema, in one transaction; blocks the thread.
    ///
    /// - Parameters:
    ///   - number: The version to which it leads.
    ///   - owner: Who owns the tables; nil = the configuration says all.
    ///   - act: The act that it is.
    /// - Throws: `StoreError`; a conflict where an older program uses what the step takes away; ``ConfigurationError``.
    func takeStep(to number: Int, as owner: TableOwner?, by act: NewAct) throws

    /// Checks the store's own files completely, if they are this host's.
    ///
    /// - Parameter logger: The store's logger.
    /// - Returns: A line for each fault; empty = none.
    /// - Throws: `StoreError`; ``ConfigurationError`` if the store cannot be opened.
    func checkFiles(logger: Logger) async throws -> [String]

    /// What an operator must know of where the store is; blocks the thread.
    ///
    /// - Parameter logger: The store's logger.
    /// - Returns: What was seen; nothing of a file.
    func examine(logger: Logger) -> [StoreObservation]
}

/// A role that owns the store's tables, as which alone their steps are taken.
package struct TableOwner: Sendable {
    package let role: String
    /// Holds its password alone; nil = the server asks for none.
    package let passwordFile: String?

    package init(role: String, passwordFile: String?) { (self.role, self.passwordFile) = (role, passwordFile) }

    /// Does something as that role; where the server asks for a password that nobody gave, the error says how.
    func askingForPassword<Value>(_ work: () throws -> Value) throws -> Value {
        do { return try work() } catch let error as StoreError
            where self.passwordFile == nil && error.message.contains("no password supplied")
        {
            throw StoreError(error.code, "\(error.message); give --password-file FILE with the one of \(self.role)")
        }
    }
}

/// What people are told of a kind of store.
package struct StoreAdvice: Sendable {
    /// How to name another one.
    package let setting: String
    /// What to look for where it cannot be opened, as a question.
    package let whenUnavailable: String
    /// What to do where it is damaged.
    package let whenCorrupt: String
    /// Who makes its backups; nil = `pushline store backup` does.
    package let backup: String?
    /// Who checks its files; nil = `pushline store check` does.
    package let files: String?
}

extension Composition {
    /// Chooses the driver of the store that a configuration asks for: the only place that knows them.
    ///
    /// - Parameter configuration: Where the store is.
    /// - Returns: The store, not opened.
    package static func store(_ configuration: PushlineConfiguration) -> any ConfiguredStore {
        configuration.store.url.map { ServerStore(url: $0, configuration.store) } ?? FileStore(configuration.store)
    }
}
