import PushModel

/// How much of an app's traffic may be under way to one push service at one priority (rule 12).
///
/// The window paces the planner: it neither fills the broker with one app's campaign, nor plans far ahead of the answers.
package struct FeedWindow: Sendable, Equatable {
    /// The most devices in open batches that are published.
    package var devices: Int
    /// The most such batches, however small they are.
    package var batches: Int

    package init(devices: Int = 32 * DeliverBatch.maximumDevices, batches: Int = 1024) {
        self.devices = devices
        self.batches = batches
    }
}

/// What is to be fed: some may fill a window further than others, so that they never wait behind them.
package enum FeedKind: Sendable, CaseIterable {
    /// Further pages of a send: a campaign fills the window itself.
    case page
    /// The first pages of a send have a quarter more, and may go ahead of a rate limit for a moment, so that small sends pass a campaign.
    case first
    /// Retries have the whole window once more: what was begun comes before what is new.
    case retry
}

/// What may be fed now.
package struct FeedRoom: Sendable, Equatable {
    /// The most devices; 0 = none now.
    package let devices: Int
    /// When there is room again, where a rate limit alone is in the way.
    package let wait: Duration?
    /// Whether an operator has paused the queue: nobody knows when there is room again.
    package let isPaused: Bool

    /// Whether the window is full: there is room again when something of it is done.
    package var isFull: Bool { self.devices <= 0 && self.wait == nil && !self.isPaused }

    package init(devices: Int, wait: Duration? = nil, isPaused: Bool = false) {
        self.devices = devices
        self.wait = wait
        self.isPaused = isPaused
    }
}
