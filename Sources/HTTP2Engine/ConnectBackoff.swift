import NIOCore

/// When the next connection may be tried: never in a storm, and ever more seldom while they fail.
struct ConnectBackoff {
    private let interval: Duration
    private let backoff: Duration
    private let maximumBackoff: Duration
    private var notBefore = NIODeadline.uptimeNanoseconds(0)
    /// Connections in a row that failed, or were lost before they answered anything.
    private(set) var failures = 0

    init(_ configuration: HTTP2Configuration) {
        self.interval = configuration.connectInterval
        self.backoff = configuration.backoff
        self.maximumBackoff = configuration.maximumBackoff
    }

    func allows(_ now: NIODeadline) -> Bool { now >= self.notBefore }

    mutating func attempted(_ now: NIODeadline) { self.delay(now, self.interval) }

    mutating func succeeded() { self.failures = 0 }

    mutating func failed(_ now: NIODeadline) {
        self.failures += 1
        let longest = min(self.maximumBackoff, self.backoff * (1 << min(self.failures - 1, 20)))
        // Between half and the whole of it, so that many processes do not come back at once.
        self.delay(now, longest * Double.random(in: 0.5...1))
    }

    private mutating func delay(_ now: NIODeadline, _ wait: Duration) {
        self.notBefore = max(self.notBefore, now + TimeAmount(rounding: wait))
    }
}
