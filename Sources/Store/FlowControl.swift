import PushModel

/// How much of an app's traffic may be in flight to one push service at one priority (rule 12).
///
/// The window slows the fan-out down: it neither fills the broker with one app's campaign, nor runs far ahead of the answers.
package struct InFlightWindow: Sendable, Equatable {
    /// The most devices in delivery messages that are published or deferred.
    package var devices: Int
    /// The most such messages, however small they are.
    package var messages: Int

    package init(devices: Int = 32 * DeliverBatch.maximumDevices, messages: Int = 1024) {
        self.devices = devices
        self.messages = messages
    }
}

/// What asks for credit: some may fill a window further than others, so that they never wait behind them.
package enum CreditKind: Sendable, CaseIterable {
    /// Further pages of a send: a campaign fills the window itself.
    case page
    /// The first pages of a send have a quarter more, and may exceed a rate limit for a moment, so that small sends pass a campaign.
    case first
    /// Retries have the whole window once more: what was begun comes before what is new.
    case retry
}

/// How many devices may be published now.
package struct Credit: Sendable, Equatable {
    /// The most devices; 0 = none now.
    package let devices: Int
    /// When there is credit again, where a rate limit alone is in the way.
    package let wait: Duration?
    /// Whether an operator has paused the queue: nobody knows when there is credit again.
    package let isPaused: Bool

    package init(devices: Int, wait: Duration? = nil, isPaused: Bool = false) {
        self.devices = devices
        self.wait = wait
        self.isPaused = isPaused
    }
}
