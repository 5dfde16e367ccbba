import HTTPTypes
import NIOConcurrencyHelpers
package import PushModel
import Settings

/// Limits the memory of all bodies beyond the usual limit together, in permits of 1 KiB, shared fairly (``FairPermits``), and works on
/// them on a thread of their own.
package final class LargeBodies: Sendable {
    /// The limit in bytes, unless the largest body needs more.
    static let memory = 96 << 20

    /// Works on them.
    package let thread = LargeWork()
    private let permits: FairPermits
    /// Bytes taken since freed memory was last returned to the system.
    private let taken: NIOLockedValueBox<Int>

    package init(limits: ServingLimits) {
        let longest = max(limits.settings.sendSize * Self.ofSend, limits.settings.contentSize)
        let taken = NIOLockedValueBox(0)
        let release = limits.releaseMemory
        self.taken = taken
        // At least two of the largest: a slow client may hold one.
        self.permits = FairPermits(max(Self.memory, longest * 2) >> 10) {
            let isMuch = taken.withLockedValue { taken in
                guard taken >= Self.memory / 8 else { return false }
                taken = 0
                return true
            }
            if isMuch { release() }
        }
    }

    /// Permits for each byte of a send: its raw bytes and the parsed values are in memory together.
    package static let ofSend = 2

    /// - Parameters:
    ///   - bytes: The number of bytes.
    ///   - caller: The caller.
    /// - Returns: The permit, to be held as long as the bytes.
    /// - Throws: ``Problem`` 503 when the caller's share is used up.
    package func permit(_ bytes: Int, for caller: Caller) throws -> FairPermits.Permit {
        guard let permit = self.permits.permit((bytes + 1023) >> 10, for: caller) else {
            throw Problem.later(.serviceUnavailable, "too many large requests are in progress", seconds: 1)
        }
        self.taken.withLockedValue { $0 += bytes }
        return permit
    }
}
