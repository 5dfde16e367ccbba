/// Makes text of others fit for logs and records.
package enum ForeignText {
    /// At most 80 visible characters of ASCII.
    package static func word(_ text: String) -> String {
        String(decoding: text.utf8.filter { (0x20...0x7E).contains($0) }.prefix(80), as: UTF8.self)
    }
}
