/// How much of an audience is read at a time; a row that is stepped over costs 1, some 0.1 µs.
package struct AudienceReadLimits: Sendable {
    /// Rows of a window: the fewest to begin with, and the most where they cost little.
    package var windows = 1024...65_536
    /// Rows of the window of an expression whose operands are many and dear; it is read whatever it costs.
    package var smallestWindow = 64
    /// The cost after which a page ends, so that a read transaction lasts no longer than about 50 ms.
    package var maximumCost = 400_000
    /// The wanted cost of a window, so that a page ends close to its limit.
    package var windowCost = 20_000...200_000

    package init() {}
}
