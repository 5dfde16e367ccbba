/// Turns single acknowledgements into few frames.
///
/// One frame with `multiple` acknowledges all deliveries up to its tag. The broker closes the channel when that tag itself is
/// not outstanding, so such a frame always names one of those just acknowledged.
struct AcknowledgementWindow {
    /// An acknowledgement for the broker.
    struct Frame: Equatable {
        var tag: UInt64
        var multiple: Bool
    }

    /// Every tag up to this one is done.
    private var floor: UInt64 = 0
    /// Tags above the floor that are done.
    private var done: Set<UInt64> = []

    /// Takes the tags of deliveries that are done; one that was done before is left out.
    mutating func acknowledge(_ tags: some Sequence<UInt64>) -> [Frame] {
        let fresh = Set(tags).filter { $0 > self.floor && !self.done.contains($0) }
        guard !fresh.isEmpty else { return [] }
        var last: UInt64?
        var next = self.floor + 1
        while true {
            if fresh.contains(next) {
                last = next
            } else if self.done.remove(next) == nil {
                break
            }
            next += 1
        }
        self.floor = next - 1
        var frames: [Frame] = []
        if let last { frames.append(Frame(tag: last, multiple: true)) }
        for tag in fresh.sorted() where tag > self.floor {
            self.done.insert(tag)
            frames.append(Frame(tag: tag, multiple: false))
        }
        return frames
    }

    /// Notes tags that are given back one by one, and returns those that were not done before.
    mutating func release(_ tags: some Sequence<UInt64>) -> [UInt64] {
        let fresh = Set(tags).filter { $0 > self.floor && !self.done.contains($0) }.sorted()
        self.done.formUnion(fresh)
        return fresh
    }
}
