import HTTPTypes
import NIOConcurrencyHelpers

/// The memory that bodies beyond the usual limit take, of all requests together: counted in KiB, and shared as ``FairPermits`` says.
final class LargeBodies: Sendable {
    /// The bytes that they may take, unless the longest body needs more.
    static let memory = 96 << 20

    private let permits: FairPermits
    /// Bytes that were taken since freed memory was last given back to the system.
    private let taken: NIOLockedValueBox<Int>

    init(configuration: APIConfiguration) {
        let longest = max(configuration.maximumSendSize * Self.ofSend, configuration.maximumContentSize)
        let taken = NIOLockedValueBox(0)
        let release = configuration.releaseMemory
        self.taken = taken
        // Two of the longest at least: one may be somebody's who is slow.
        self.permits = FairPermits(max(Self.memory, longest * 2) >> 10) {
            let isMuch = taken.withLockedValue { taken in
                guard taken >= Self.memory / 8 else { return false }
                taken = 0
                return true
            }
            if isMuch { release() }
        }
    }

    /// How much of it a send takes for each of its bytes: it is kept as it came, and read into values.
    static let ofSend = 2

    /// - Parameters:
    ///   - bytes: What is taken.
    ///   - caller: Who takes it.
    /// - Returns: The permit, to be kept as long as the bytes are.
    /// - Throws: ``Problem`` 503 when the caller may not have so much now.
    func permit(_ bytes: Int, for caller: Caller) throws -> FairPermits.Permit {
        guard let permit = self.permits.permit((bytes + 1023) >> 10, for: caller) else {
            throw Problem.later(.serviceUnavailable, "too many large requests are under way", seconds: 1)
        }
        self.taken.withLockedValue { $0 += bytes }
        return permit
    }
}
