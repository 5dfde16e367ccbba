/// How much of an audience is read at a time; a row that is stepped over costs 1, some 0.1 µs.
package struct AudienceReadLimits: Sendable {
    /// Rows of a window: the fewest, and the most where they cost little.
    package var windows = 1024...65_536
    /// A page ends after so much: a read transaction is not to last longer than some 50 ms.
    package var maximumCost = 400_000
    /// What a window should cost, so that a page ends not far behind its limit.
    package var windowCost = 20_000...200_000

    package init() {}
}
