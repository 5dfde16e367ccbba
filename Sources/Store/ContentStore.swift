package import PushModel

/// Uploaded content and the rich notifications that point to it.
package protocol ContentStore: Sendable {
    /// Keeps content.
    ///
    /// - Returns: Its id, hard to guess.
    func put(_ content: StoredContent, app: AppID) async throws -> String

    func content(_ id: String, app: AppID) async throws -> StoredContent?

    /// Keeps a rich notification.
    ///
    /// - Returns: Its id, a positive number that fits 32 bits and is hard to guess.
    func add(_ notification: NewRichNotification, app: AppID) async throws -> Int32

    func richNotification(_ id: Int32, app: AppID) async throws -> RichNotification?

    /// Remembers that the addressee has read it; the first time counts.
    func markRead(_ id: Int32, app: AppID, at: Timestamp) async throws
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
