import Crypto
package import PushModel
package import Store

/// A kind of list.
package enum PagedList: String, Sendable, CaseIterable {
    case accounts, registrations, jobs, deliveries, notifications, deadLetters, acts
}

/// The cursors of lists: the number of the last row that was given, sealed.
///
/// Rows are numbered for all apps together, so an open number would tell an app how much the others do. A cursor is sealed with the
/// store's key, for one list of one app: all processes of the store read it, and one of another list or app, or a made one, is refused.
///
/// Rows have their numbers in the order of commits, so a cursor passes over nothing. With a second writer a lower number may be committed
/// later, and a walk that has come further passes over it: it has what was there when it began. The last page has no cursor, so that nobody
/// goes on from there.
package struct ListCursors: Sendable {
    /// For the tag, and for what hides the number.
    private let keys: (tag: SymmetricKey, mask: SymmetricKey)

    private static let tagSize = 16
    /// The bytes of a key.
    package static let keySize = 32

    /// - Parameter key: The store's key for cursors.
    /// - Throws: ``StoreError`` when the key has another length.
    package init(key: some Collection<UInt8>) throws(StoreError) {
        guard key.count == Self.keySize else {
            throw StoreError(.corrupt, "the store's key for cursors is not 32 bytes")
        }
        let key = SymmetricKey(data: Array(key))
        func derive(_ purpose: String) -> SymmetricKey {
            SymmetricKey(
                data: HMAC<SHA256>.authenticationCode(for: Array("pushline cursor \(purpose)".utf8), using: key)
            )
        }
        self.keys = (derive("tag"), derive("mask"))
    }

    /// The cursor behind a row.
    ///
    /// - Parameters:
    ///   - number: The row's number.
    ///   - list: The kind of list.
    ///   - app: Whose list it is; nil = of what belongs to none.
    /// - Returns: A text of 32 characters.
    package func seal(_ number: Int64, _ list: PagedList, of app: AppID?) -> String {
        let bytes = Self.bytes(number)
        let tag = self.tag(bytes, list, app)
        return Base64URL.encode(tag + self.masked(bytes, by: tag))
    }

    /// The row that a cursor stands behind; nil = the list is read from its beginning.
    ///
    /// - Throws: ``StoreError/Code/invalidCursor`` for a text that ``seal(_:_:of:)`` has not made for this list of this app.
    package func open(_ text: String?, _ list: PagedList, of app: AppID?) throws(StoreError) -> Int64? {
        guard let text else { return nil }
        guard let sealed = Base64URL.decode(text), sealed.count == Self.tagSize + 8, Base64URL.encode(sealed) == text
        else { throw Self.foreign }
        let tag = Array(sealed.prefix(Self.tagSize))
        let bytes = self.masked(Array(sealed.dropFirst(Self.tagSize)), by: tag)
        // Of no use to whoever measures the time: a forger gains a place in a list that is read by its app alone.
        guard self.tag(bytes, list, app) == tag else { throw Self.foreign }
        return bytes.reduce(Int64(0)) { $0 << 8 | Int64($1) }
    }

    private static var foreign: StoreError { StoreError(.invalidCursor, "a cursor that this list has not given") }

    private static func bytes(_ number: Int64) -> [UInt8] {
        (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    /// Of the number and its list: it is its nonce too, so that the same cursor is the same text.
    private func tag(_ number: [UInt8], _ list: PagedList, _ app: AppID?) -> [UInt8] {
        let text = Array("\(list.rawValue) \(app?.name ?? "")".utf8)
        return Array(HMAC<SHA256>.authenticationCode(for: number + text, using: self.keys.tag).prefix(Self.tagSize))
    }

    private func masked(_ bytes: [UInt8], by tag: [UInt8]) -> [UInt8] {
        zip(bytes, HMAC<SHA256>.authenticationCode(for: tag, using: self.keys.mask)).map { $0 ^ $1 }
    }
}
