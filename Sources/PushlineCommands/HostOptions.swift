import ArgumentParser
import Foundation
import Installation
import Logging
import PushModel
import Settings
import Store

/// Which store of this host to work on.
struct HostOptions: ParsableArguments {
    @Option(
        help: "The server's configuration. Default: \(PushlineConfiguration.defaultFilesText), where it exists.",
        completion: KnownValues.yamlFiles
    )
    var config: String?

    @Option(help: "How to print.")
    var format = OutputFormat.text

    /// Opens the store for the duration of the work.
    ///
    /// - Parameters:
    ///   - configuration: As ``configuration(of:)`` has read it; nil = it is read now.
    ///   - isChanging: Whether the work writes; the user is then shown the store's path.
    ///   - mayCreate: Whether a missing store is made: a wrong path would look right.
    ///   - work: The work.
    /// - Returns: The work's result.
    /// - Throws: The work's error, or the reason that the store cannot be opened.
    func withStore<Value>(
        of configuration: PushlineConfiguration? = nil,
        isChanging: Bool = false,
        mayCreate: Bool = false,
        _ work: (any ResultStore) async throws -> Value
    ) async throws -> Value {
        let configured = try await mayCreate ? self.configuredStore(configuration) : self.existingStore(configuration)
        let isNew = !configured.exists
        let store = try await configured.open(logger: Self.logger)
        if isNew {
            Console.note("pushline: there was no store at \(configured.place): it was made new")
        } else if isChanging {
            Console.note("pushline: the store is \(configured.place)")
        }
        return try await configured.explaining { try await work(store) }
    }

    /// The store that the configuration names.
    ///
    /// - Parameter configuration: As ``configuration(of:)`` has read it; nil = it is read now.
    /// - Returns: The store, which need not be there.
    /// - Throws: `ConfigurationError` that names the key.
    func configuredStore(_ configuration: PushlineConfiguration? = nil) async throws -> any ConfiguredStore {
        Composition.store(try configuration ?? self.configuration())
    }

    /// Reads the configuration, and says so where nobody named its file: the folder may be somebody else's.
    ///
    /// A command reads it once, so that this is said once.
    ///
    /// - Parameter files: Which are looked for then.
    /// - Returns: The configuration.
    /// - Throws: `ConfigurationError` that names the key.
    func configuration(of files: [String] = PushlineConfiguration.defaultFiles) throws -> PushlineConfiguration {
        let file = PushlineConfiguration.chosenFile(self.config, of: files)
        if self.config == nil, let file {
            Console.note(
                "pushline: the configuration is \(Console.safe(URL(filePath: file).path)); --config names another"
            )
        }
        return try PushlineConfiguration(file: file)
    }

    /// As ``configuredStore(_:)``, but never one that is not there.
    func existingStore(_ configuration: PushlineConfiguration? = nil) async throws -> any ConfiguredStore {
        let store = try await self.configuredStore(configuration)
        guard store.exists else {
            throw CommandFailure.failed(
                "there is no store at \(store.place): pushline apps apply FILE makes it, or name another with --config, \(store.advice.setting)"
            )
        }
        return store
    }

    /// Logs only errors: the command reports the rest itself.
    static var logger: Logger {
        var logger = Logger(label: "pushline") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .critical
        return logger
    }

    /// Writes JSON if that is wanted, else lines.
    func show(_ value: JSONValue, lines: () -> [String]) {
        if self.format == .json { return Console.print(value.indentedText) }
        for line in lines() { Console.print(line) }
    }
}

extension ConfiguredStore {
    /// Runs work on the store, and explains its errors to the user.
    func explaining<Value>(_ work: () async throws -> Value) async throws -> Value {
        do {
            return try await work()
        } catch let error as StoreError {
            let advice = error.code == .corrupt ? "; \(self.advice.whenCorrupt)" : ""
            throw CommandFailure.failed("the store \(self.place): \(error.message)\(advice)")
        }
    }
}

/// The app that a command on the host is about.
struct AppOption: ParsableArguments {
    @Option(help: "The app. Default: PUSHLINE_APP, else \"\(AppID.default.name)\".")
    var app: String?

    /// - Throws: ``CommandFailure`` when the store has no such app.
    func id(in store: any ResultStore) async throws -> AppID { try await self.declared(in: store).id }

    /// The app and its declaration.
    ///
    /// - Throws: ``CommandFailure`` when the store has no such app.
    func declared(in store: any ResultStore) async throws -> (id: AppID, spec: AppSpec) {
        let given = [self.app, ProcessInfo.processInfo.environment["PUSHLINE_APP"]].compactMap { $0 }
        let name = given.first { !$0.isEmpty } ?? AppID.default.name
        let id: AppID
        do { id = try AppID(name) } catch { throw CommandFailure.usage("--app: \(error.reason)") }
        guard let spec = try await store.app(id) else {
            throw CommandFailure.failed("there is no app \"\(id)\"; declare it with pushline apps apply FILE")
        }
        return (id, spec)
    }
}
