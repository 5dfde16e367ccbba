import NIOConcurrencyHelpers
import PushModel

/// The fan-outs of this process that are blocked and wait in memory: a few of each app and priority, each briefly.
///
/// Where no more may wait the message is deferred, so that an app whose windows stay full keeps no other from being fanned out
/// (rule 12).
final class WaitingFanOuts: Sendable {
    /// The fan-outs that are counted together.
    struct Group: Hashable {
        let app: AppID
        let priority: Priority
    }

    private let capacity: Int
    private let timeout: Duration
    private let taken = NIOLockedValueBox<[Group: Int]>([:])

    /// - Parameters:
    ///   - capacity: How many fan-outs of an app and priority may wait.
    ///   - timeout: How long each may wait in memory without coming further.
    init(capacity: Int, timeout: Duration = .seconds(2)) {
        self.capacity = capacity
        self.timeout = timeout
    }

    func stay(app: AppID, priority: Priority) -> Stay {
        Stay(waiting: self, group: Group(app: app, priority: priority))
    }

    fileprivate func enter(_ group: Group) -> Bool {
        self.taken.withLockedValue { taken in
            guard taken[group, default: 0] < self.capacity else { return false }
            taken[group, default: 0] += 1
            return true
        }
    }

    fileprivate func leave(_ group: Group) {
        self.taken.withLockedValue { taken in
            guard let count = taken[group] else { return }
            taken[group] = count > 1 ? count - 1 : nil
        }
    }

    /// One fan-out's stay; it begins when the fan-out first cannot go on.
    struct Stay {
        fileprivate let waiting: WaitingFanOuts
        fileprivate let group: Group
        private var began: ContinuousClock.Instant?
        private var pause = Duration.zero

        /// The greatest pause between two looks.
        private static let longest = Duration.milliseconds(500)

        fileprivate init(waiting: WaitingFanOuts, group: Group) {
            self.waiting = waiting
            self.group = group
        }

        /// Asks to wait once more.
        ///
        /// - Parameter pause: How long the next look is known to be of no use.
        /// - Returns: How long to wait, longer from time to time; nil when the message is to be deferred.
        mutating func prolong(_ pause: Duration) -> Duration? {
            guard pause <= self.waiting.timeout else { return nil }
            if let began = self.began {
                guard began.duration(to: .now) < self.waiting.timeout else { return nil }
            } else {
                guard self.waiting.enter(self.group) else { return nil }
                self.began = .now
            }
            self.pause = max(pause, min(self.pause * 2, Self.longest))
            return self.pause
        }

        /// The fan-out came further, or is gone.
        mutating func end() {
            if self.began != nil { self.waiting.leave(self.group) }
            self.began = nil
            self.pause = .zero
        }
    }
}
