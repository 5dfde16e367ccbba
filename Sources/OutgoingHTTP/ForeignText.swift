/// Makes text of others fit for logs and records.
package enum ForeignText {
    /// At most 80 visible characters of ASCII.
    package static func word(_ text: String) -> String { Self.visible(text, atMost: 80) }

    /// What a service says of a fault, in at most 200 visible characters of ASCII.
    package static func sentence(_ text: String) -> String { Self.visible(text, atMost: 200) }

    private static func visible(_ text: String, atMost length: Int) -> String {
        String(decoding: text.utf8.lazy.filter { (0x20...0x7E).contains($0) }.prefix(length), as: UTF8.self)
    }
}
