package import Hub
package import Logging
import NIOConcurrencyHelpers
import PushModel
package import Store

/// The calls of hubs over a wire: where the embedded hub sends to devices, these are handed whole sends.
package struct HubCallers: Sendable {
    /// How long calls take, and when hubs are asked again.
    package struct Configuration: Sendable {
        /// How long a call may take at most: after that nobody is at it any more (rule 18).
        package var callTime: Duration = .seconds(30)
        /// The most calls at once for the batches of a message.
        package var concurrency = 16
        /// How often is looked for calls whose hub is to be asked.
        package var interval: Duration = .seconds(1)
        /// The most hubs that are asked at once.
        package var questions = 16

        package init() {}
    }

    private let hubs: any WireHubs
    private let store: any HubCallStore
    private let apps: AppDirectory
    private let configuration: Configuration
    private let logger: Logger
    /// Until when hubs that gave no answer are left alone: a round of questions lasts as long as its slowest.
    private let silent = NIOLockedValueBox<[AppID: ContinuousClock.Instant]>([:])
    private static let silence = Duration.seconds(60)

    /// - Parameters:
    ///   - hubs: The hubs.
    ///   - store: Where calls are written.
    ///   - apps: The apps' declarations.
    ///   - configuration: Times and limits.
    ///   - logger: For degraded states.
    package init(
        hubs: any WireHubs,
        store: any HubCallStore,
        apps: AppDirectory,
        configuration: Configuration = Configuration(),
        logger: Logger
    ) {
        self.hubs = hubs
        self.store = store
        self.apps = apps
        self.configuration = configuration
        self.logger = logger
    }

    /// Makes the sender to an app's hub.
    ///
    /// - Throws: ``HubError`` that says what is wrong with the declaration or its files.
    func caller(_ declaration: AppSpec.AzureHub, spec: AppSpec) throws(HubError) -> HubCaller {
        HubCaller(
            hub: try self.hubs.hub(declaration),
            store: self.store,
            spec: spec,
            callTime: self.configuration.callTime,
            concurrency: self.configuration.concurrency,
            logger: self.logger
        )
    }

    // MARK: What became of calls

    /// Asks hubs what became of calls, until the task is cancelled.
    func watch() async {
        while !Task.isCancelled {
            do {
                let calls = try await self.store.takeHubCalls(limit: self.configuration.questions)
                await withDiscardingTaskGroup { group in
                    for call in calls { group.addTask { await self.ask(call) } }
                }
                if calls.count == self.configuration.questions { continue }
            } catch {
                self.logger.debug("Looking for calls of hubs failed", metadata: ["error": "\(error)"])
            }
            try? await Task.sleep(for: self.configuration.interval)
        }
    }

    /// A hub that has not said the last word by then, about a day later, is asked no more.
    private static let mostQuestions = 100
    private static let longestWait = Duration.seconds(900)

    /// When to ask again after so many questions: 2 s, doubled up to 15 min.
    static func wait(after questions: Int) -> Duration? {
        guard questions < Self.mostQuestions else { return nil }
        return min(.seconds(1 << min(questions, 16)), Self.longestWait)
    }

    private func ask(_ call: AskedHubCall) async {
        let again = Self.wait(after: call.asked + 1)
        if let end = self.silent.withLockedValue({ $0[call.app] }), ContinuousClock.now < end {
            return await self.note(call, againIn: again)
        }
        do {
            guard let declaration = try await self.apps.spec(of: call.app)?.azureHub else {
                return try await self.store.noteHubCall(call.key, nil, againIn: nil)
            }
            switch try await self.hubs.hub(declaration).outcome(of: call.id) {
            case .notOffered: try await self.store.noteHubCall(call.key, nil, againIn: nil)
            case .notYet: try await self.store.noteHubCall(call.key, nil, againIn: again)
            case .known(let state, let devices, let isFinal):
                let outcome = HubCall.Outcome(state: state, devices: devices)
                try await self.store.noteHubCall(call.key, outcome, againIn: isFinal ? nil : again)
            }
        } catch let error as WireHubError where error.kind != .refused {
            self.logger.debug("A hub did not say what became of a send", metadata: ["error": "\(error.message)"])
            if error.status == nil {
                self.silent.withLockedValue { $0[call.app] = ContinuousClock.now + Self.silence }
            }
            await self.note(call, againIn: again)
        } catch let error as WireHubError {
            self.logger.info("A hub does not say what became of a send", metadata: ["error": "\(error.message)"])
            await self.note(call, againIn: nil)
        } catch let error as HubError {
            // Else it would be asked each minute without end.
            self.logger.debug("A hub cannot be used", metadata: ["app": "\(call.app)", "error": "\(error)"])
            await self.note(call, againIn: again)
        } catch {
            // It is taken again when its minute is over.
            self.logger.debug("A hub could not be asked", metadata: ["app": "\(call.app)", "error": "\(error)"])
        }
    }

    private func note(_ call: AskedHubCall, againIn wait: Duration?) async {
        do { try await self.store.noteHubCall(call.key, nil, againIn: wait) } catch {
            self.logger.debug("A call of a hub cannot be written", metadata: ["error": "\(error)"])
        }
    }
}
