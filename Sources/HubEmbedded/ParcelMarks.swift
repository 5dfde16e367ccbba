import Logging
import NIOConcurrencyHelpers
import PushModel
import Store

/// Says in the store which parcels are at the broker, some time after they were published.
///
/// Most of them are delivered by then and need no mark; a commit at once would stand in the way of the workers. What a crash leaves
/// unmarked is published once more when its grace ends, which does no harm (rule 1).
final class ParcelMarks: Sendable {
    /// How long parcels are gathered; well below ``EmbeddedHub/Configuration/grace``.
    private static let gathering = Duration.milliseconds(250)
    /// The most that are remembered while the store takes none.
    private static let capacity = 4096

    private let store: any BundleStore
    private let lease: Duration
    private let logger: Logger
    private let state = NIOLockedValueBox(State())

    private struct State {
        var published: [ParcelID] = []
        /// Of the run that marks them.
        var wakeUp: AsyncStream<Void>.Continuation?
    }

    init(store: any BundleStore, lease: Duration, logger: Logger) {
        self.store = store
        self.lease = lease
        self.logger = logger
    }

    func note(_ parcels: [ParcelID]) {
        guard !parcels.isEmpty else { return }
        let wakeUp = self.state.withLockedValue { state in
            // Those that are left out are published once more.
            if state.published.count < Self.capacity { state.published += parcels }
            return state.wakeUp
        }
        wakeUp?.yield()
    }

    func run() async {
        let (wake, wakeUp) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.state.withLockedValue { $0.wakeUp = wakeUp }
        for await _ in wake {
            // Cut short when the process ends: then what there is is marked at once.
            try? await Task.sleep(for: Self.gathering)
            await self.mark()
        }
        await self.mark()
    }

    private func mark() async {
        let parcels = self.state.withLockedValue { state in
            defer { state.published = [] }
            return state.published
        }
        do {
            try await self.store.markPublished(parcels: parcels, lease: self.lease)
        } catch {
            self.logger.debug("Published parcels were not marked", metadata: ["error": "\(error)"])
        }
    }
}
