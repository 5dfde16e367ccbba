package import PushModel

/// Uploaded content and the rich notifications that point to it.
package protocol ContentStore: Sendable {
    /// Stores content within the quotas of its owner and the app and the free space.
    ///
    /// - Parameters:
    ///   - content: The content.
    ///   - app: The app.
    ///   - quota: The limits of the uploader and of the whole app.
    /// - Returns: Its id, or the reason of a refusal.
    /// - Throws: ``StoreError``.
    func put(_ content: StoredContent, app: AppID, quota: AppSpec.Contents) async throws -> ContentAcceptance

    func content(_ id: String, app: AppID) async throws -> StoredContent?

    /// Rich notifications, newest first.
    func richNotifications(_ query: RichNotificationQuery) async throws -> Page<RichNotification>

    /// Remembers that the addressee has read it; the first time counts.
    ///
    /// - Returns: Whether this was the first time.
    func markRead(_ id: Int32, app: AppID, at: Timestamp) async throws -> Bool
}

extension ContentStore {
    /// The rich notification of that id, or nil when the app has none.
    package func richNotification(_ id: Int32, app: AppID) async throws -> RichNotification? {
        try await self.richNotifications(RichNotificationQuery(app: app, id: id, limit: 1)).items.first
    }

    /// Whether a rich notification for that user names the content.
    package func names(_ content: String, in notificationsOf: UserName, app: AppID) async throws -> Bool {
        let query = RichNotificationQuery(app: app, addressee: notificationsOf, content: content, limit: 1)
        return try await !self.richNotifications(query).items.isEmpty
    }
}
