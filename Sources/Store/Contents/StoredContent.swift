package import PushModel

/// The result of storing content.
package enum ContentAcceptance: Sendable, Equatable {
    /// Under this id, which is hard to guess.
    case kept(String)
    /// The uploader's quota is reached; it uses this many bytes.
    case accountIsFull(used: Int)
    /// The app's quota is reached; it uses this many bytes.
    case appIsFull(used: Int)
    /// The disk has little room left, which is kept for other things.
    case diskIsNearlyFull

    /// The bytes that content counts as beyond its own: its row and the indexes have some hundred.
    package static let overhead = 1024

    /// The bytes that content counts as.
    package static func cost(of content: StoredContent) -> Int { content.bytes.count + self.overhead }
}

/// Bytes with their media type.
package struct StoredContent: Sendable, Equatable {
    /// The user who uploaded it; nil = a key did.
    package let owner: UserName?
    /// The name of the key that uploaded it.
    package let key: String?
    package let mediaType: String
    package let bytes: [UInt8]

    package init(owner: UserName?, key: String? = nil, mediaType: String, bytes: [UInt8]) {
        self.owner = owner
        self.key = key
        self.mediaType = mediaType
        self.bytes = bytes
    }
}
