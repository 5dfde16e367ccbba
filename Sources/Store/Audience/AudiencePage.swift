package import PushModel

/// A piece of an audience.
package struct AudiencePage: Sendable {
    package var rows: [Int64]
    /// In the order of ``rows``.
    package var handles: HandleList
    /// All of the audience up to this row is in the page, or was in one before: the next page begins after it.
    ///
    /// It is `through` itself when nothing is left.
    package var scannedThrough: Int64

    package init(rows: [Int64] = [], handles: HandleList = HandleList(), scannedThrough: Int64) {
        self.rows = rows
        self.handles = handles
        self.scannedThrough = scannedThrough
    }
}

/// The size of a piece of an audience.
package struct AudienceCount: Sendable, Equatable {
    package var count: Int
    /// The piece ends here, as in ``AudiencePage/scannedThrough``.
    package var scannedThrough: Int64

    package init(count: Int, scannedThrough: Int64) {
        self.count = count
        self.scannedThrough = scannedThrough
    }
}
