import NIOConcurrencyHelpers

/// A fixed number of places for what takes much memory or time.
final class Places: Sendable {
    /// A place that is taken for as long as somebody has this.
    final class Place: Sendable {
        private let places: Places

        fileprivate init(of places: Places) { self.places = places }

        deinit { self.places.free.withLockedValue { $0 += 1 } }
    }

    private let free: NIOLockedValueBox<Int>

    init(_ count: Int) { self.free = NIOLockedValueBox(count) }

    /// - Returns: nil when all are taken.
    func take() -> Place? {
        let isFree = self.free.withLockedValue { free in
            guard free > 0 else { return false }
            free -= 1
            return true
        }
        return isFree ? Place(of: self) : nil
    }
}
