package import PushModel

/// How a message is deferred.
package struct Deferral: Sendable, Equatable {
    /// How long it is not due.
    package var pause: Duration
    /// The services whose credit it waits for: from its due time on it is taken when one of them has credit.
    package var blockedOn: Set<PushService>
    /// Whether it waits as a campaign that has begun there, behind first pages.
    package var isContinued: Bool
    /// What it waits for, for whoever asks; of its text at most 200 characters are kept.
    package var reason: WaitReason?

    package init(
        pause: Duration = .zero,
        blockedOn: Set<PushService> = [],
        isContinued: Bool = false,
        reason: WaitReason? = nil
    ) {
        self.pause = pause
        self.blockedOn = blockedOn
        self.isContinued = isContinued
        self.reason = reason
    }
}
