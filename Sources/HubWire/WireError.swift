package import PushModel

/// The body of a refusal: an `Error` with the status and the words for it.
package struct WireError: Sendable, Equatable {
    package let status: Int
    package let detail: String

    package init(status: Int, detail: String) {
        self.status = status
        self.detail = detail
    }

    /// Reads a refusal; the words end before the hub's own id and time.
    ///
    /// - Throws: `InvalidValue` for what is none.
    package init(reading bytes: [UInt8]) throws(InvalidValue) {
        let root = try WireDocument.root("Error", of: bytes)
        self.status = root.first("Code").flatMap { Int($0.text) } ?? 0
        var words = root.first("Detail")?.text[...] ?? ""
        for mark in ["TrackingId:", "Trackingid:"] {
            if let id = words.firstRange(of: mark) { words = words[..<id.lowerBound] }
        }
        if words.hasSuffix(".") { words.removeLast() }
        self.detail = String(words.trimming())
    }

    /// The XML.
    ///
    /// - Parameters:
    ///   - trackingID: The request's id.
    ///   - now: The time.
    /// - Returns: Its bytes; the words end with id and time as the original's do.
    package func bytes(trackingID: String, at now: Timestamp) -> [UInt8] {
        let detail = "\(self.detail).TrackingId:\(trackingID)_G0,TimeStamp:\(WireTime.american(now))"
        return XMLTree(
            "Error",
            elements: [XMLTree("Code", text: String(self.status)), XMLTree("Detail", text: detail)]
        ).bytes
    }
}
