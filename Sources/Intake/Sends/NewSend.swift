package import PushModel
package import Store

/// A send that is to be accepted.
package struct NewSend: Sendable {
    package let request: SendRequest
    package var priority = Priority.normal
    /// When it is to go out; nil or past = at once.
    package var startsAt: Timestamp?
    /// The rich notification to store with it.
    package var notification: NewRichNotification?
    /// The sender's own name for it.
    package var label: JobLabel?
    /// The devices, where it names them one by one.
    package var recipients: RecipientList?

    package init(_ request: SendRequest) { self.request = request }
}
