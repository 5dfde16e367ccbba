package import PushModel

/// Uploaded content and the rich notifications that point to it.
package protocol ContentStore: Sendable {
    /// Keeps content, where its owner, the app and the disk have room for it.
    ///
    /// - Parameters:
    ///   - content: What is to be kept.
    ///   - app: The app.
    ///   - key: The name of the backend's key that uploads it; nil = its owner does.
    ///   - quota: How much the uploader, and all of the app together, may have.
    /// - Returns: Its id, or why it is not kept.
    /// - Throws: ``StoreError``.
    func put(
        _ content: StoredContent,
        app: AppID,
        key: String?,
        quota: AppSpec.Contents
    ) async throws -> ContentAcceptance

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

/// What came of content that was to be kept.
package enum ContentAcceptance: Sendable, Equatable {
    /// Under this id, which is hard to guess.
    case kept(String)
    /// It is beyond what its uploader may have, who has so many bytes.
    case accountIsFull(used: Int)
    /// It is beyond what the app may have, which has so many bytes.
    case appIsFull(used: Int)
    /// The disk has little room left, which is kept for other things.
    case diskIsNearlyFull

    /// The bytes that content counts as beyond its own: its row and the indexes have some hundred.
    package static let overhead = 1024

    /// What content counts as.
    package static func cost(of content: StoredContent) -> Int { content.bytes.count + self.overhead }
}

/// Bytes with their media type.
package struct StoredContent: Sendable, Equatable {
    package let owner: UserName?
    package let mediaType: String
    package let bytes: [UInt8]

    package init(owner: UserName?, mediaType: String, bytes: [UInt8]) {
        self.owner = owner
        self.mediaType = mediaType
        self.bytes = bytes
    }
}

/// A rich notification that is to be kept, together with the job that tells of it: neither is there without the other.
package struct NewRichNotification: Sendable {
    /// A positive number that is hard to guess; where the app has one of that id, nothing is accepted
    /// (``StoreError/Code/conflict``).
    package let id: Int32
    package let sender: UserName?
    package let addressee: UserName
    package let message: String
    package let richType: String
    /// The id of its content; nil = the app's default picture.
    package let content: String?
    package let isSecure: Bool
    /// When so many are kept already, one of the sender's that was read makes place, the oldest; where there is none, nothing
    /// is accepted (``StoreError/Code/quotaReached``).
    package let quota: Quota

    /// The most rich notifications that are kept.
    package struct Quota: Sendable, Equatable {
        package var perSender: Int
        package var perApp: Int

        package init(perSender: Int = .max, perApp: Int = .max) {
            self.perSender = perSender
            self.perApp = perApp
        }
    }

    package init(
        id: Int32 = .random(in: 1...Int32.max),
        sender: UserName?,
        addressee: UserName,
        message: String,
        richType: String,
        content: String?,
        isSecure: Bool,
        quota: Quota = Quota()
    ) {
        self.id = id
        self.quota = quota
        self.sender = sender
        self.addressee = addressee
        self.message = message
        self.richType = richType
        self.content = content
        self.isSecure = isSecure
    }
}

/// A rich notification as it is kept.
package struct RichNotification: Sendable {
    package let id: Int32
    package let sender: UserName?
    package let addressee: UserName
    package let message: String
    package let richType: String
    package let content: String?
    package let isSecure: Bool
    package let created: Timestamp
    /// When its addressee fetched it first.
    package let read: Timestamp?

    package init(
        id: Int32,
        sender: UserName?,
        addressee: UserName,
        message: String,
        richType: String,
        content: String?,
        isSecure: Bool,
        created: Timestamp,
        read: Timestamp?
    ) {
        self.id = id
        self.sender = sender
        self.addressee = addressee
        self.message = message
        self.richType = richType
        self.content = content
        self.isSecure = isSecure
        self.created = created
        self.read = read
    }
}

/// Which rich notifications to list.
package struct RichNotificationQuery: Sendable {
    package var app: AppID
    package var id: Int32?
    package var sender: UserName?
    package var addressee: UserName?
    /// Those that name this content.
    package var content: String?
    /// Those made since then.
    package var since: Timestamp?
    package var cursor: String?
    /// 1 to 1000.
    package var limit: Int

    package init(
        app: AppID,
        id: Int32? = nil,
        sender: UserName? = nil,
        addressee: UserName? = nil,
        content: String? = nil,
        since: Timestamp? = nil,
        cursor: String? = nil,
        limit: Int = 100
    ) {
        self.app = app
        self.id = id
        self.sender = sender
        self.addressee = addressee
        self.content = content
        self.since = since
        self.cursor = cursor
        self.limit = limit
    }
}
