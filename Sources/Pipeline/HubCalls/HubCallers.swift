package import Hub
package import Logging
import NIOConcurrencyHelpers
import PushModel
import PushlineLogging
import ServiceLifecycle
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
    private let lists = NIOLockedValueBox<[AppID: HubLists]>([:])

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
    func caller(
        _ declaration: AppSpec.AzureHub,
        of app: AppID
    ) throws(HubError) -> HubCaller {
        HubCaller(
            hub: try self.hubs.hub(declaration),
            store: self.store,
            app: app,
            callTime: self.configuration.callTime,
            concurrency: self.configuration.concurrency,
            lists: self.lists.withLockedValue { lists in
                let known = lists[app] ?? HubLists()
                lists[app] = known
                return known
            },
            logger: self.logger
        )
    }

    // MARK: What became of calls

    /// Asks hubs what became of calls, until the process drains or the task is cancelled.
    ///
    /// - Parameter breakers: Those of the calls: a hub that gives no answer is not asked either.
    func watch(_ breakers: Breakers) async {
        while !Task.isCancelled, !Task.isShuttingDownGracefully {
            do {
                let calls = try await self.store.takeHubCalls(limit: self.configuration.questions)
                await withDiscardingTaskGroup { group in
                    for call in calls {
                        group.addTask {
                            await LogContext.$current.withValue(LogContext(jobs: [call.trace])) {
                                await self.ask(call, breakers)
                            }
                        }
                    }
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

    private static func news(_ outcome: HubCall.Outcome?, again wait: Duration?) -> HubCallNews {
        wait.map { .pending(outcome, again: $0) } ?? .ended(outcome)
    }

    private func ask(_ call: AskedHubCall, _ breakers: Breakers) async {
        let again = Self.wait(after: call.asked + 1)
        do {
            guard let declaration = try await self.apps.spec(of: call.app)?.azureHub else {
                return try await self.store.recordHubCalls([call.key], .said(.ended(nil)))
            }
            let hub = try self.hubs.hub(declaration)
            // A hub that gives no answer is not asked: a round lasts as long as its slowest.
            let said = try await breakers.through(.hub(of: call.app), isQuestion: true) {
                try await hub.outcome(of: call.id, app: call.app)
            }
            switch said {
            case .notOffered: try await self.store.recordHubCalls([call.key], .said(.notOffered))
            case .notYet: try await self.store.recordHubCalls([call.key], .said(Self.news(nil, again: again)))
            case .known(let report):
                let outcome = HubCall.Outcome(state: report.state.rawValue, devices: report.devices)
                let isLast = report.state.isFinal
                try await self.store.recordHubCalls(
                    [call.key],
                    .said(isLast ? .complete(outcome) : Self.news(outcome, again: again))
                )
            }
        } catch is HubIsResting {
            await self.note(call, againIn: again)
        } catch let error as HubError {
            self.logger.debug(
                "A hub does not say what became of a send",
                metadata: ["app": "\(call.app)", "error": "\(error)"]
            )
            // Else it would be asked each minute without end.
            await self.note(call, againIn: error.kind == .refused ? nil : again)
        } catch {
            // It is taken again when its minute is over.
            self.logger.debug("A hub could not be asked", metadata: ["app": "\(call.app)", "error": "\(error)"])
        }
    }

    private func note(_ call: AskedHubCall, againIn wait: Duration?) async {
        do { try await self.store.recordHubCalls([call.key], .said(Self.news(nil, again: wait))) } catch {
            self.logger.debug("A call of a hub cannot be written", metadata: ["error": "\(error)"])
        }
    }
}
