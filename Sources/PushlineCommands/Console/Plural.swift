/// A number of things.
enum Plural {
    /// Such as `1 line`, `2 lines`.
    static func of(_ count: Int, _ thing: String) -> String { Self.of(count, thing, shown: String(count)) }

    /// The same with the number written in another way.
    static func of(_ count: Int, _ thing: String, shown: String) -> String {
        "\(shown) \(thing)\(count == 1 ? "" : "s")"
    }
}
