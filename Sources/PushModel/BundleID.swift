/// Names a bundle: small sends that were accepted together and stand in the outbox as one (rule 15).
package struct BundleID: Hashable, Sendable, CustomStringConvertible {
    /// The store's number.
    package let number: Int64

    package init(number: Int64) { self.number = number }

    private static let prefix = "bundle/"

    /// The `message-id` of its message.
    package var description: String { "\(Self.prefix)\(self.number)" }

    /// Reads ``description``.
    package init?(_ text: String) {
        guard let number = outboxNumber(in: text, behind: Self.prefix) else { return nil }
        self.init(number: number)
    }
}

/// Names a parcel: small batches that travel in one message.
package struct ParcelID: Hashable, Sendable, CustomStringConvertible {
    /// The store's number.
    package let number: Int64

    package init(number: Int64) { self.number = number }

    private static let prefix = "parcel/"

    /// The `message-id` of its message.
    package var description: String { "\(Self.prefix)\(self.number)" }

    /// Reads ``description``.
    package init?(_ text: String) {
        guard let number = outboxNumber(in: text, behind: Self.prefix) else { return nil }
        self.init(number: number)
    }
}

/// The store's number that a message's name ends with; one text a number: no `+1`, no `007`.
private func outboxNumber(in text: String, behind prefix: String) -> Int64? {
    guard text.hasPrefix(prefix), let number = Int64(text.dropFirst(prefix.count)), number > 0,
        text == "\(prefix)\(number)"
    else { return nil }
    return number
}
