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
        guard text.hasPrefix(Self.prefix), let number = Int64(text.dropFirst(Self.prefix.count)), number > 0 else {
            return nil
        }
        self.init(number: number)
        // One text a number: no `+1`, no `007`.
        guard self.description == text else { return nil }
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
        guard text.hasPrefix(Self.prefix), let number = Int64(text.dropFirst(Self.prefix.count)), number > 0 else {
            return nil
        }
        self.init(number: number)
        guard self.description == text else { return nil }
    }
}
