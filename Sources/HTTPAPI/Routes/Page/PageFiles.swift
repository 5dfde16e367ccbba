import CResources
import Crypto
import NIOCore
import PushModel

/// The files of the app's page, which are part of the program.
enum PageFiles {
    struct File: Sendable {
        /// Its media type.
        let type: String
        let content: ByteBuffer
        /// Its strong entity tag (RFC 9110, 8.8.3), in quotes.
        let tag: String
    }

    /// The page itself: what the folder's path stands for.
    static let index = "index.html"

    /// By name.
    static let all: [String: File] = {
        var files: [String: File] = [:]
        for index in 0..<page_file_count() {
            let file = unsafe page_file_at(index)
            let bytes = unsafe UnsafeBufferPointer(start: file.file.bytes, count: file.file.count)
            let content = unsafe ByteBuffer(bytes: bytes)
            let digest = SHA256.hash(data: Array(content.readableBytesView)).prefix(16)
            unsafe files[String(cString: file.name)] = File(
                type: String(cString: file.type),
                content: content,
                tag: "\"\(Base64URL.encode(Array(digest)))\""
            )
        }
        return files
    }()
}
