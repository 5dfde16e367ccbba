package import PushModel

/// A tag as the store finds the registrations that have it.
package enum StoredTag: Hashable, Sendable {
    /// A user's own tag, of that user of that app: it stands in no table, for the user's registrations are those that have it.
    case user(ExactText, app: Int64)
    /// Any other tag, by its number.
    case number(Int64)

    /// Orders tags as the indexes do: neighbouring seeks cost a quarter of random ones.
    package static func precedes(_ one: StoredTag, _ other: StoredTag) -> Bool {
        switch (one, other) {
        case (.user(let one, _), .user(let other, _)): one < other
        case (.number(let one), .number(let other)): one < other
        case (.user, .number): true
        case (.number, .user): false
        }
    }
}
