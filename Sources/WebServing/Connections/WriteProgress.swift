package import NIOCore

/// Checks that written bytes leave fast enough: a client reading a byte now and then must not hold a response in memory
/// for days.
package struct WriteProgress {
    /// The least bytes that must leave per ``limit``, if there are as many.
    package static let minimum = 32 * 1024

    private let limit: TimeAmount
    /// When the present span began, and how many bytes had left by then; nil = nothing is waiting to leave.
    private var span: (start: NIODeadline, left: Int)?

    /// - Parameter limit: How long the other side may take for ``minimum`` bytes.
    package init(limit: TimeAmount) { self.limit = limit }

    /// Looks again, some times in ``limit``.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - left: How many bytes have left since the beginning.
    ///   - waiting: How many have not.
    /// - Returns: Whether too few have left for too long.
    package mutating func isStalled(_ now: NIODeadline, left: Int, waiting: Int) -> Bool {
        guard waiting > 0 else {
            self.span = nil
            return false
        }
        guard let span = self.span, left - span.left < Self.minimum else {
            self.span = (now, left)
            return false
        }
        return now - span.start >= self.limit
    }
}
