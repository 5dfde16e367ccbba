import Broker

/// The numbers of a connection's channels.
///
/// A channel that we end without waiting keeps its number until the broker has answered: frames that were on their way would
/// else be taken for those of the next channel of that number.
struct ChannelNumbers {
    private let most: UInt16
    private var taken: Set<UInt16> = []

    /// - Parameter most: The highest number, as negotiated; 0 = no limit.
    init(most: Int32) {
        self.most = most > 0 ? UInt16(clamping: most) : .max
    }

    /// Takes the lowest free number.
    ///
    /// - Parameter previous: The number of a channel that this one replaces, which it does not get.
    /// - Returns: The number.
    /// - Throws: ``BrokerError`` where all are taken, which a new connection mends.
    mutating func take(replacing previous: UInt16? = nil) throws(BrokerError) -> UInt16 {
        guard let number = (1...self.most).first(where: { $0 != previous && !self.taken.contains($0) }) else {
            throw BrokerError(.unreachable, "The connection to the broker has no channel left.")
        }
        self.taken.insert(number)
        return number
    }

    /// The channel is over at both ends.
    mutating func free(_ number: UInt16) {
        self.taken.remove(number)
    }
}
