package import PushModel

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
