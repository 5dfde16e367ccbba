import HubAzure
import HubWire

/// The pages that a hub gave in one run: one that always names a next page must not keep an import for ever.
struct HubImportPages {
    /// Hashes: of the places that pages began at, and of what was on them.
    private var places: Set<Int> = []
    private var contents: Set<Int> = []
    /// How many pages in a row had nothing on them.
    private var empty = 0
    private var read = 0

    /// A hub may give some pages without anything, and then go on.
    static let mostEmpty = 1000
    /// More than any hub has.
    private static let most = 100_000_000

    /// Takes a page.
    ///
    /// - Parameter page: The page, which names a next one or none.
    /// - Returns: Why the next one must not be read; nil = it may be.
    mutating func fault(of page: AzurePage<WireRegistration>) -> String? {
        guard let place = page.continuation else { return nil }
        guard self.places.insert(place.hashValue).inserted else {
            return "it names a next page that it gave before"
        }
        self.read += page.items.count + page.unreadable
        guard self.read <= Self.most else { return "it has given more than \(Self.most) registrations" }
        guard !page.items.isEmpty else {
            self.empty += 1
            return self.empty > Self.mostEmpty ? "it has given \(Self.mostEmpty) pages without a registration" : nil
        }
        self.empty = 0
        var hasher = Hasher()
        for item in page.items {
            hasher.combine(item.id)
            hasher.combine(item.handle)
        }
        return self.contents.insert(hasher.finalize()).inserted ? nil : "it gives the same registrations again"
    }
}
