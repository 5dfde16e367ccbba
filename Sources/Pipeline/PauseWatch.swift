import Logging
import Metrics
import NIOConcurrencyHelpers
import PushModel
import PushlineMetrics
import ServiceLifecycle
import Store

/// The pauses, as read at most half a second ago, unless the store cannot be read.
final class PauseWatch: Sendable {
    private let store: any PauseStore
    private let logger: Logger
    private let known = NIOLockedValueBox<[Pause]>([])

    /// How often it looks.
    private static let interval = Duration.milliseconds(500)

    init(store: any PauseStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    /// Why an app's work in a queue is paused, if it is.
    func reason(_ queue: WorkQueue, app: AppID) -> WaitReason? {
        self.known.withLockedValue { pauses in
            pauses.contains { $0.covers(queue, app: app) } ? Pause.reason(queue) : nil
        }
    }

    /// Reads the pauses once before the work begins, and then periodically beside it.
    ///
    /// - Parameter work: The work.
    /// - Throws: The error of `work`.
    func around(_ work: @escaping @Sendable () async throws -> Void) async throws {
        while !(await self.refresh()) {
            guard !Task.isShuttingDownGracefully else { return }
            try await Task.sleep(for: Self.interval)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await self.watch() }
            try await work()
            group.cancelAll()
        }
    }

    private func watch() async {
        while !Task.isCancelled {
            // Cancelled = the work has ended.
            do { try await Task.sleep(for: Self.interval) } catch { return }
            _ = await self.refresh()
        }
    }

    /// - Returns: false when the store cannot be read; then all stays as it was.
    private func refresh() async -> Bool {
        do {
            self.note(try await self.store.pauses())
            return true
        } catch {
            self.logger.debug("Reading the paused queues failed", metadata: ["error": "\(error)"])
            return false
        }
    }

    private func note(_ pauses: [Pause]) {
        let last = self.known.withLockedValue { known in
            defer { known = pauses }
            return known
        }
        for queue in WorkQueue.allCases {
            let count = pauses.count { $0.queue == queue }
            MetricDescription.queuePauses.gauge([.queue: queue.description]).record(count)
        }
        for pause in pauses where !last.contains(pause) {
            self.logger.info("A queue is paused; its work waits", metadata: pause.metadata)
        }
        for pause in last where !pauses.contains(pause) {
            self.logger.notice("A queue is resumed", metadata: pause.metadata)
        }
    }
}

extension Pause {
    fileprivate var metadata: Logger.Metadata {
        // Not who paused it, which may be a user's name: the API's line has the caller.
        ["queue": "\(self.queue)", "app": "\(self.app?.name ?? "all")"]
    }
}
