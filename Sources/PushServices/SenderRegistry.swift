package import Logging
import NIOConcurrencyHelpers
package import NIOCore
import NIOPosix
import OutgoingHTTP
package import PushModel
import ServiceLifecycle

/// Keeps one sender for each credential of an app at a push service, made from the app's declaration.
///
/// A sender is replaced when the declaration or the content of a file that it names changes, and closed when it has not been used
/// for a while. As a `Service` it closes unused senders, and all at graceful shutdown: list it before its users.
package final class SenderRegistry: Service {
    private struct Key: Hashable {
        let app: AppID
        let pns: PushService
        let credential: CredentialName
    }

    private struct Entry {
        let configuration: any SenderConfiguration
        let sender: any PushSender
        var files: [CredentialFile]
        let ends: [CredentialExpiry]
        /// The fault of a replaced file, while the sender continues with the previous one.
        var fault: SenderError?
        var checked: ContinuousClock.Instant
        var used: ContinuousClock.Instant
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        /// Replaced senders, whose last batches may still run.
        var retired: [any PushSender] = []
        var isClosed = false
    }

    private let settings: SenderSettings
    private let eventLoopGroup: any EventLoopGroup
    private let logger: Logger
    private let watch: CredentialWatch
    private let state = NIOLockedValueBox(State())

    package init(
        settings: SenderSettings = SenderSettings(),
        eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        logger: Logger
    ) {
        self.settings = settings
        self.eventLoopGroup = eventLoopGroup
        self.logger = logger
        self.watch = CredentialWatch(logger: logger)
    }

    /// The sender for a credential of an app at a service: the cached one, or a new one.
    ///
    /// Checks the app's files if that is due, and opens no connection.
    ///
    /// - Parameters:
    ///   - app: The app.
    ///   - pns: The service.
    ///   - credential: Which of the app's credentials.
    ///   - spec: The app's present declaration.
    /// - Returns: A sender that may be used until the registry is closed; ask for it again with each batch.
    /// - Throws: ``SenderError`` that names the wrong file or setting.
    package func sender(
        app: AppID,
        pns: PushService,
        credential: CredentialName = .default,
        spec: AppSpec
    ) throws(SenderError) -> any PushSender {
        let configuration = try spec.configuration(for: pns, credential)
        let key = Key(app: app, pns: pns, credential: credential)
        let result: Result<any PushSender, SenderError> = self.state.withLockedValue { state in
            do throws(SenderError) {
                return .success(try self.sender(key, configuration, &state))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// The expiry dates of what a credential consists of, as far as known.
    ///
    /// - Throws: As ``sender(app:pns:credential:spec:)``.
    package func ends(
        app: AppID,
        pns: PushService,
        credential: CredentialName = .default,
        spec: AppSpec
    ) throws(SenderError) -> [CredentialExpiry] {
        _ = try self.sender(app: app, pns: pns, credential: credential, spec: spec)
        let key = Key(app: app, pns: pns, credential: credential)
        return self.state.withLockedValue { $0.entries[key]?.ends ?? [] }
    }

    /// Under the lock, so that concurrent callers make a sender only once.
    private func sender(_ key: Key, _ configuration: any SenderConfiguration, _ state: inout State) throws(SenderError)
        -> any PushSender
    {
        guard !state.isClosed else { throw SenderError(.invalid, "the senders are closed: the process is stopping") }
        let now = ContinuousClock.now
        var logger = self.logger
        logger[metadataKey: "app"] = "\(key.app)"
        logger[metadataKey: "service"] = "\(key.pns.rawValue)"
        if let name = key.credential.named { logger[metadataKey: "credential"] = "\(name)" }
        if var entry = state.entries[key] {
            entry.used = now
            let isDeclared = entry.configuration.isEqual(to: configuration)
            var isCurrent = isDeclared
            if isCurrent, now - entry.checked >= self.settings.fileCheckInterval {
                entry.checked = now
                for index in entry.files.indices where isCurrent { isCurrent = !entry.files[index].hasChanged() }
            }
            if isCurrent {
                state.entries[key] = entry
                return entry.sender
            }
            if isDeclared {
                do throws(SenderError) {
                    let made = try self.make(key, configuration, &state, logger: logger)
                    logger.notice("A credential file changed; the new credentials are in use")
                    state.retired.append(entry.sender)
                    return made
                } catch {
                    // Half written, or gone for a moment: nothing that works is stopped for that.
                    if entry.fault != error {
                        logger.warning(
                            "A credential file changed and cannot be read; the old credentials stay in use",
                            metadata: ["error": "\(error)"]
                        )
                    }
                    entry.fault = error
                    state.entries[key] = entry
                    return entry.sender
                }
            }
            state.entries[key] = nil
            state.retired.append(entry.sender)
        }
        return try self.make(key, configuration, &state, logger: logger)
    }

    private func make(
        _ key: Key,
        _ configuration: any SenderConfiguration,
        _ state: inout State,
        logger: Logger
    ) throws(SenderError) -> any PushSender {
        let parts = SenderParts(settings: self.settings, eventLoopGroup: self.eventLoopGroup, logger: logger)
        let made: (sender: any PushSender, files: [CredentialFile])
        do { made = try configuration.makeSender(parts) } catch { throw error.of(key.credential, at: key.pns) }
        let now = ContinuousClock.now
        state.entries[key] = Entry(
            configuration: configuration,
            sender: made.sender,
            files: made.files,
            ends: configuration.ends.map { $0.of(key.credential, at: key.pns) },
            checked: now,
            used: now
        )
        logger.debug("push sender made")
        return made.sender
    }

    /// How long a request may take, at most.
    package var requestTimeout: Duration { self.settings.requestTimeout }

    /// Closes unused senders until graceful shutdown, then all: their users have ended before.
    package func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                try await Task.sleep(for: .seconds(5))
                await self.closeIdle()
                self.watchEnds()
            }
        }
        await self.close(by: .now)
    }

    /// Lets running batches end until a deadline, then closes all senders; asking for one afterwards throws.
    package func close(by deadline: ContinuousClock.Instant = .now + SenderRegistry.longestSend) async {
        let senders = self.state.withLockedValue { state in
            let all = state.retired + state.entries.values.map(\.sender)
            state = State(isClosed: true)
            return all
        }
        await SenderRegistry.close(senders, by: deadline)
    }

    /// Forgets a sender that does not come back: the next batch gets a new one, with new connections.
    package func abandon(_ sender: any PushSender) {
        self.state.withLockedValue { state in
            let index = state.entries.firstIndex { ($0.value.sender as AnyObject) === (sender as AnyObject) }
            if let index { state.entries.remove(at: index) }
        }
        Task.detached { await SenderRegistry.close([sender], by: .now) }
    }

    /// What of the credentials in use ends soon.
    package var nearEnds: [CredentialWatch.Ending] { self.watch.near }

    private func watchEnds() {
        let ends = self.state.withLockedValue { state in state.entries.map { ($0.key.app, $0.value.ends) } }
        for (app, ends) in ends {
            for end in ends { self.watch.check(end, of: app) }
        }
    }

    private func closeIdle() async {
        let now = ContinuousClock.now
        let senders = self.state.withLockedValue { state in
            var due = state.retired
            state.retired = []
            for (key, entry) in state.entries where now - entry.used > self.settings.senderIdleTimeout {
                due.append(entry.sender)
                state.entries[key] = nil
            }
            return due
        }
        await SenderRegistry.close(senders, by: .now + Self.longestSend)
    }

    /// No batch is longer under way (rule 4).
    package static let longestSend = Duration.seconds(60)

    private static func close(_ senders: [any PushSender], by deadline: ContinuousClock.Instant) async {
        await withDiscardingTaskGroup { group in
            for sender in senders {
                group.addTask {
                    await DeadlineWatch.shared.run(until: deadline + DeadlineWatch.grace) {
                        await sender.close(by: deadline)
                    }
                }
            }
        }
    }
}
