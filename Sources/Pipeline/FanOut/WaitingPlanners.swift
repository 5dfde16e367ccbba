import NIOConcurrencyHelpers
import PushModel

/// The planners of this process that cannot go on and wait in memory: a few of each app and priority, each for a moment.
///
/// Whoever finds no place here gives the message back to its row, so that an app whose windows stay full keeps no other from being
/// fanned out (rule 12).
final class WaitingPlanners: Sendable {
    /// Whose planners share places.
    struct Group: Hashable {
        let app: AppID
        let priority: Priority
    }

    private let places: Int
    private let patience: Duration
    private let taken = NIOLockedValueBox<[Group: Int]>([:])

    /// - Parameters:
    ///   - places: How many planners of an app and priority may wait.
    ///   - patience: How long each may wait in memory without coming further.
    init(places: Int, patience: Duration = .seconds(2)) {
        self.places = places
        self.patience = patience
    }

    func stay(app: AppID, priority: Priority) -> Stay {
        Stay(planners: self, group: Group(app: app, priority: priority))
    }

    fileprivate func enter(_ group: Group) -> Bool {
        self.taken.withLockedValue { taken in
            guard taken[group, default: 0] < self.places else { return false }
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

    /// One planner's stay; it begins when the planner first cannot go on.
    struct Stay {
        fileprivate let planners: WaitingPlanners
        fileprivate let group: Group
        private var began: ContinuousClock.Instant?
        private var pause = Duration.zero

        /// The greatest pause between two looks.
        private static let longest = Duration.milliseconds(500)

        fileprivate init(planners: WaitingPlanners, group: Group) {
            self.planners = planners
            self.group = group
        }

        /// Asks to wait once more.
        ///
        /// - Parameter pause: How long the next look is known to be of no use.
        /// - Returns: How long to wait, longer from time to time; nil when the message is to be given back.
        mutating func prolong(_ pause: Duration) -> Duration? {
            guard pause <= self.planners.patience else { return nil }
            if let began = self.began {
                guard began.duration(to: .now) < self.planners.patience else { return nil }
            } else {
                guard self.planners.enter(self.group) else { return nil }
                self.began = .now
            }
            self.pause = max(pause, min(self.pause * 2, Self.longest))
            return self.pause
        }

        /// The planner came further, or is gone.
        mutating func end() {
            if self.began != nil { self.planners.leave(self.group) }
            self.began = nil
            self.pause = .zero
        }
    }
}
