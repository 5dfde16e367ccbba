package import PushModel

/// The text that the classic backend shows.
package enum ClassicText {
    /// `From <sender>: <message>`.
    package static func shown(sender: UserName, text: String) -> String { "From \(sender.name): \(text)" }
}
