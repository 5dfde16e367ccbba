/// Which of several addresses is tried next: after a failure the next one at once, and a pause only after a whole round.
struct AddressRound {
    private let count: Int
    /// The place of the address to try.
    private(set) var index = 0
    private var failures = 0

    init(count: Int) {
        precondition(count > 0, "There is an address.")
        self.count = count
    }

    /// The address answered: its loss begins a new round.
    mutating func connected() {
        self.failures = 0
    }

    /// The connection failed, or was lost; goes on to the next address.
    ///
    /// - Returns: Whether it may be tried at once; false = all have failed.
    mutating func failed() -> Bool {
        self.index = (self.index + 1) % self.count
        self.failures += 1
        guard self.failures >= self.count else { return true }
        self.failures = 0
        return false
    }
}
