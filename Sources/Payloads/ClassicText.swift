/// The text that the classic backend shows.
package enum ClassicText {
    /// `From <sender>: <message>`.
    package static func shown(sender: String, text: String) -> String { "From \(sender): \(text)" }
}
