import Foundation
import Synchronization

/// How long this machine, this process, or the threads that all tasks share have stood or had too much to do: no deadline of a test's
/// can allow for that.
enum Standstill {
    /// How late one that only sleeps may be.
    private static let shortest = Duration.milliseconds(50)

    /// Those who look often, so that what lies between two looks is not their doing.
    private enum Watcher: Int { case thread, task }

    private struct State {
        var seen = [ContinuousClock.now, .now]
        var stood = Duration.zero
    }

    private static let state = Mutex(State())

    private static let watch: Void = {
        Thread.detachNewThread {
            while true {
                Thread.sleep(forTimeInterval: 0.01)
                Self.look(.thread)
            }
        }
        Task.detached {
            while !Task.isCancelled {
                try? await Task.sleep(for: .milliseconds(10))
                Self.look(.task)
            }
        }
    }()

    /// All of it since this was first asked for.
    static var total: Duration {
        self.watch
        return self.state.withLock { state in
            let now = ContinuousClock.now
            // What has not ended yet is not added yet.
            let longest = state.seen.map { now - $0 }.max() ?? .zero
            return state.stood + (longest > self.shortest ? longest : .zero)
        }
    }

    private static func look(_ watcher: Watcher) {
        self.state.withLock { state in
            let now = ContinuousClock.now
            let time = now - state.seen[watcher.rawValue]
            if time > self.shortest { state.stood += time }
            state.seen[watcher.rawValue] = now
        }
    }
}
