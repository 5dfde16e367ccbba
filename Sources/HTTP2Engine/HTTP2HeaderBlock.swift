import CNghttp2

/// A header that may not be sent: its name is not a lower-case token, or its value could break out of its line.
package struct HTTP2InvalidField: Error, Equatable {
    /// Only the name; the value may be a secret.
    package let name: String
}

/// A header of a request or an answer; the name in lower case.
package struct HTTP2Field: Sendable, Equatable {
    package let name: String
    package let value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// The headers that all requests of a batch share, laid out once for the wire.
///
/// Method and authority come first, for pseudo-headers precede all others; `:path` stands between them and the fields.
@safe package final class HTTP2HeaderBlock: @unchecked Sendable {
    // Sendable: nothing is written after `init`, and the memory lives as long as the object.
    private let storage: UnsafeMutableBufferPointer<UInt8>
    /// Pseudo-headers without `:path`, then the fields; they point into `storage`.
    let entries: UnsafeMutableBufferPointer<nghttp2_nv>
    /// How many of ``entries`` are pseudo-headers.
    static let pseudoCount = 3
    /// The most headers of a request, `:path` and own ones included.
    static let maximumFields = 64

    /// - Parameters:
    ///   - method: Such as `POST`.
    ///   - authority: Host, and port where it is not the scheme's own.
    ///   - fields: In order; names in lower case.
    /// - Throws: ``HTTP2InvalidField`` for a name or value that cannot be sent.
    package init(method: String, authority: String, fields: [HTTP2Field]) throws(HTTP2InvalidField) {
        let pseudo = [
            HTTP2Field(":method", method), HTTP2Field(":scheme", "https"), HTTP2Field(":authority", authority),
        ]
        for field in pseudo where !HTTP2HeaderBlock.isSafe(field.value.utf8) || field.value.isEmpty {
            throw HTTP2InvalidField(name: field.name)
        }
        for field in fields
        where !HTTP2HeaderBlock.isToken(field.name.utf8) || !HTTP2HeaderBlock.isSafe(field.value.utf8) {
            throw HTTP2InvalidField(name: field.name)
        }
        let all = pseudo + fields
        let size = all.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        let storage = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: size)
        let entries = UnsafeMutableBufferPointer<nghttp2_nv>.allocate(capacity: all.count)
        var offset = 0
        func place(_ text: String) -> UnsafeMutablePointer<UInt8>? {
            let part = unsafe storage[offset...]
            _ = unsafe UnsafeMutableBufferPointer(rebasing: part).update(fromContentsOf: text.utf8)
            defer { offset += text.utf8.count }
            return unsafe storage.baseAddress.map { unsafe $0 + offset }
        }
        // nghttp2 copies neither: the block outlives the request, for the batch holds it until the stream has closed.
        let flags = UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue)
        for (index, field) in all.enumerated() {
            unsafe entries.initializeElement(
                at: index,
                to: nghttp2_nv(
                    name: place(field.name),
                    value: place(field.value),
                    namelen: field.name.utf8.count,
                    valuelen: field.value.utf8.count,
                    flags: flags
                )
            )
        }
        unsafe self.storage = storage
        unsafe self.entries = entries
    }

    deinit {
        unsafe self.entries.deallocate()
        unsafe self.storage.deallocate()
    }

    /// Whether the bytes may stand in a header's value: visible ASCII, and spaces within.
    static func isSafe(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.allSatisfy { (0x20...0x7E).contains($0) } && bytes.first != 0x20
    }

    private static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.isEmpty
            && bytes.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || byte == UInt8(ascii: "-")
            }
    }
}
