/// A cached value that is computed at most once a second, by one task for all callers (single flight).
package actor SharedCopy<Value: Sendable> {
    /// The most callers that may wait: anybody may ask.
    static var maximumWaiting: Int { 64 }

    private let lifetime: Duration
    private let make: @Sendable () async -> Value
    private var copy: (task: Task<Value, Never>, ends: ContinuousClock.Instant?)?
    private var waiting = 0

    /// - Parameters:
    ///   - lifetime: How old a value may be.
    ///   - make: Makes a value.
    package init(lifetime: Duration = .seconds(1), make: @escaping @Sendable () async -> Value) {
        self.lifetime = lifetime
        self.make = make
    }

    /// - Returns: The value, no older than its lifetime; nil while too many wait for it already.
    package func value() async -> Value? {
        if let copy, let ends = copy.ends, .now < ends { return await copy.task.value }
        guard self.waiting < Self.maximumWaiting else { return nil }
        self.waiting += 1
        defer { self.waiting -= 1 }
        // A copy without an end is still being made.
        if let copy, copy.ends == nil { return await copy.task.value }
        let make = self.make
        let task = Task { await make() }
        self.copy = (task, nil)
        let value = await task.value
        self.copy = (task, .now + self.lifetime)
        return value
    }
}
