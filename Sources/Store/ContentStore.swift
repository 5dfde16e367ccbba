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

    /// Keeps a rich notification.
    ///
    /// - Returns: Its id, a positive number that fits 32 bits and is hard to guess.
    func add(_ notification: NewRichNotification, app: AppID) async throws -> Int32

    func richNotification(_ id: Int32, app: AppID) async throws -> RichNotification?

    /// Remembers that the addressee has read it; the first time counts.
    func markRead(_ id: Int32, app: AppID, at: Timestamp) async throws
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

/// A rich notification that is to be kept.
package struct NewRichNotification: Sendable {
    package let sender: UserName?
    package let addressee: UserName
    package let message: String
    package let richType: String
    /// The id of its content; nil = the app's default picture.
    package let content: String?
    package let isSecure: Bool

    package init(
        sender: UserName?,
        addressee: UserName,
        message: String,
        richType: String,
        content: String?,
        isSecure: Bool
    ) {
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
