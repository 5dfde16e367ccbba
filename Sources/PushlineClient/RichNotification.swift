public import Foundation

/// A rich notification in the server's list, which an app fetches after a silent push.
public struct RichNotification: Sendable, Equatable, Codable, Identifiable {
    /// The number that the push carries.
    public let id: Int
    /// The sender.
    public let sender: String?
    /// The addressee.
    public let user: String
    /// `img`, or the sender's own type.
    public let richType: String
    /// The id of its uploaded content; nil = the default picture.
    public let content: String?
    /// Whether the push carries nothing but the number.
    public let isSecure: Bool
    /// When it was sent.
    public let created: Date
    /// Whether its addressee has fetched it.
    public let isRead: Bool
    /// When that was, the first time.
    public let read: Date?
}

extension PushlineClient {
    /// Lists rich notifications and whether they were read, newest first: the caller's own, or for an operator the
    /// app's.
    ///
    /// - Parameters:
    ///   - user: Only those for that user.
    ///   - sender: Only those of that sender.
    ///   - since: Only those sent since then.
    ///   - limit: The most to return, 1 to 1000.
    ///   - cursor: The cursor of the page before.
    /// - Returns: A page of the list.
    /// - Throws: ``PushlineError``.
    public func richNotifications(
        user: String? = nil,
        sender: String? = nil,
        since: Date? = nil,
        limit: Int? = nil,
        cursor: String? = nil
    ) async throws -> Page<RichNotification> {
        let query = [
            ("user", user), ("sender", sender), ("since", since.map(Coding.text)), ("limit", limit.map(String.init)),
            ("cursor", cursor),
        ]
        return try await self.value(Call(method: "GET", path: ["notifications"], query: query))
    }
}
