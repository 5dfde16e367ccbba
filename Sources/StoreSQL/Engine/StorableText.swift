extension String {
    /// The text as it is kept: what others name may have U+0000, which PostgreSQL keeps in no text, and at which functions of SQLite's end.
    ///
    /// The sign for what cannot be shown takes its place. What is not UTF-8 has had it since it became a text.
    package var storable: String {
        var text = self
        let hasNull = text.withUTF8 { unsafe $0.contains(0) }
        return hasNull ? self.replacing("\0", with: "\u{FFFD}") : self
    }
}
