package import PushModel
package import Store

/// What may be published now: the in-flight windows of an app and priority, and its rate limits at a push service (rule 12).
///
/// The windows are looked at before they are filled: a second writer would let as much through as it does at a time, which is an app's
/// more in flight for a moment, and harms nobody.
package struct FlowControl: Sendable {
    /// The time at which is looked by the store's clock, in milliseconds.
    package let now: Int64
    /// The most that may be in flight.
    package let window: InFlightWindow

    package init(now: Int64, window: InFlightWindow) {
        self.now = now
        self.window = window
    }

    /// As a sweep would have found it so long ago; what it would have taken then, and is there still, is late.
    ///
    /// While jobs wait for room, a sweep that is in time keeps their window more than half full. Of what a rate limit lets go only now
    /// nothing is late.
    package init(ofSweepInTime lateness: Duration, clock: StoreClock, window: InFlightWindow) {
        var window = window
        window.jobMessages = (window.jobMessages + 1) / 2
        self.init(now: clock.now - lateness.milliseconds, window: window)
    }

    /// How many more delivery messages may be published.
    func messages(for kind: CreditKind, at load: ServiceLoad) -> Int {
        max(0, kind.share(of: self.window.messages) - load.messages)
    }

    /// How many more devices may be published.
    package func credit(for kind: CreditKind, _ priority: Priority, at load: ServiceLoad) -> Credit {
        guard !load.isPaused, self.messages(for: kind, at: load) > 0 else { return Credit(devices: 0) }
        var left = kind.share(of: self.window.devices) - load.devices
        // The part of the window closed to campaigns is closed to their first pages too.
        if kind == .first { left = min(left, DeliverBatch.maximumDevices) }
        // Whole batches: a window that is nearly full must not be filled up with small ones.
        let whole = max(0, left - left % DeliverBatch.maximumDevices)
        guard !load.limits.isEmpty else { return Credit(devices: whole) }
        let limited = load.limits.credit(kind, priority)
        guard load.limits.areOfAll else { return Credit(devices: whole, limits: limited) }
        // With limits, at most two seconds' worth is in flight: otherwise all of it would be sent at once after a
        // pause.
        let ahead = kind.share(of: max(1, load.limits.rate * 2)) - load.devices
        let free = limited.values.reduce(0) { $0 + $1.devices }
        guard free > 0 else { return Credit(devices: 0, wait: limited.values.compactMap(\.wait).min()) }
        return Credit(devices: max(0, min(free, left, ahead)), limits: limited.count > 1 ? limited : [:])
    }
}

extension CreditKind {
    /// How much of a window this kind may fill.
    fileprivate func share(of whole: Int) -> Int {
        switch self {
        case .page: whole
        case .first: whole + (whole + 3) / 4
        case .retry: whole * 2
        }
    }
}
