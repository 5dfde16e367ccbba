import DequeModule

/// The messages that were sent on a channel and not yet confirmed, by the numbers that the broker counts them with.
struct ConfirmWindow<Entry> {
    private var entries = Deque<Entry?>()
    /// The number of the first entry; a channel counts from 1.
    private var first: UInt64 = 1
    private(set) var count = 0

    /// The number that the next message will have.
    var nextNumber: UInt64 { self.first + UInt64(self.entries.count) }

    /// The entry that waits for longest.
    var oldest: Entry? { self.entries.first ?? nil }

    mutating func append(_ entry: Entry) {
        self.entries.append(entry)
        self.count += 1
    }

    /// Changes an entry that is still waiting; a number that is not is left out.
    mutating func update(_ number: UInt64, _ change: (inout Entry) -> Void) {
        guard let index = self.index(of: number), var entry = self.entries[index] else { return }
        change(&entry)
        self.entries[index] = entry
    }

    /// Removes the entries that the broker has answered.
    ///
    /// - Parameters:
    ///   - number: The number in the broker's frame.
    ///   - multiple: Whether it stands for all up to it; 0 then means every one.
    ///   - body: Gets each entry that was waiting.
    mutating func confirm(_ number: UInt64, multiple: Bool, _ body: (Entry) -> Void) {
        if multiple {
            let last = number == 0 ? self.nextNumber - 1 : number
            while self.first <= last, let entry = self.entries.popFirst() {
                self.first += 1
                self.finish(entry, body)
            }
        } else if let index = self.index(of: number) {
            let entry = self.entries[index]
            self.entries[index] = nil
            self.finish(entry, body)
        }
        while let front = self.entries.first, front == nil {
            self.entries.removeFirst()
            self.first += 1
        }
    }

    /// Starts again, as on a new channel, and returns the unconfirmed entries.
    mutating func reset(_ body: (Entry) -> Void) {
        for case let entry? in self.entries { body(entry) }
        self = ConfirmWindow()
    }

    private mutating func finish(_ entry: Entry?, _ body: (Entry) -> Void) {
        guard let entry else { return }
        self.count -= 1
        body(entry)
    }

    private func index(of number: UInt64) -> Int? {
        guard number >= self.first, number < self.nextNumber else { return nil }
        return Int(number - self.first)
    }
}
