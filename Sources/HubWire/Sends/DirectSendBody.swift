package import PushModel

/// The two parts of a batch direct send: a notification and the handles of its devices.
package struct DirectSendBody: Sendable, Equatable {
    package let notification: [UInt8]
    /// The media type of the notification, if the part says it.
    package let notificationType: String?
    package let handles: [String]

    package init(notification: [UInt8], type: String, handles: [String]) {
        self.notification = notification
        self.notificationType = type
        self.handles = handles
    }

    /// A boundary that does not occur in the notification: that of official clients, but for notifications that have it.
    package var boundary: String {
        let usual = "nh-batch-multipart-boundary"
        var boundary = usual
        var number = 0
        while self.notification.firstRange(of: Array(boundary.utf8)) != nil {
            number += 1
            boundary = "\(usual)-\(number)"
        }
        return boundary
    }

    /// The body, with the notification before the devices.
    package func bytes(boundary: String) -> [UInt8] {
        func head(_ name: String, _ type: String) -> [UInt8] {
            Array("--\(boundary)\r\nContent-Type: \(type)\r\nContent-Disposition: inline; name=\(name)\r\n\r\n".utf8)
        }
        return head("notification", self.notificationType ?? WireNames.json) + self.notification + Array("\r\n".utf8)
            + head("devices", "application/json") + JSONValue.strings(self.handles).bytes
            + Array("\r\n--\(boundary)--\r\n".utf8)
    }

    private struct Part {
        var headers: [String: String]
        var body: ArraySlice<UInt8>

        /// `name=` of `Content-Disposition`, with or without quotes.
        var name: String? {
            guard let text = self.headers["content-disposition"],
                let parts = text.firstMatch(of: /(?i:name)\s*=\s*"?([A-Za-z]+)"?/)
            else { return nil }
            return parts.1.lowercased()
        }
    }

    /// Reads `multipart/mixed` as loosely as clients write it.
    ///
    /// - Parameters:
    ///   - bytes: The body.
    ///   - contentType: The header with the boundary, which may have spaces around `=` and quotes.
    /// - Throws: ``InvalidValue`` that names the part.
    package init(reading bytes: [UInt8], contentType: String) throws(InvalidValue) {
        guard contentType.lowercased().hasPrefix("multipart/"), let boundary = Self.boundary(contentType) else {
            throw InvalidValue(member: "Content-Type", "must be multipart/mixed with a boundary")
        }
        let parts = try Self.parts(of: bytes, boundary: boundary)
        guard let notification = parts.first(where: { $0.name == "notification" }) else {
            throw InvalidValue("the part with Content-Disposition: inline; name=notification is missing")
        }
        guard let devices = parts.first(where: { $0.name == "devices" }) else {
            throw InvalidValue("the part with Content-Disposition: inline; name=devices is missing")
        }
        self.notification = Array(notification.body)
        self.notificationType = notification.headers["content-type"]
        self.handles = try Self.handles(Array(devices.body))
    }

    private static func boundary(_ contentType: String) -> String? {
        guard let parts = contentType.firstMatch(of: /(?i:boundary)\s*=\s*(?:"([^"]{1,200})"|([^\s;"]{1,200}))/) else {
            return nil
        }
        return (parts.1 ?? parts.2).map(String.init)
    }

    private static func parts(of bytes: [UInt8], boundary: String) throws(InvalidValue) -> [Part] {
        let mark = Array("--\(boundary)".utf8)
        var parts: [Part] = []
        var rest = bytes[...]
        guard let first = Self.next(mark, in: rest) else { throw InvalidValue("the body has no part") }
        rest = rest[first.upperBound...]
        while !rest.starts(with: "--".utf8) {
            guard parts.count < 4, let end = Self.next(mark, in: rest) else {
                throw InvalidValue("the body must have two parts, and end with its boundary and --")
            }
            parts.append(try Self.part(rest[..<end.lowerBound]))
            rest = rest[end.upperBound...]
        }
        return parts
    }

    /// The next boundary, which begins a line.
    private static func next(_ mark: [UInt8], in bytes: ArraySlice<UInt8>) -> Range<Int>? {
        var rest = bytes
        while let found = rest.firstRange(of: mark) {
            if found.lowerBound == bytes.startIndex || bytes[found.lowerBound - 1] == UInt8(ascii: "\n") {
                return found
            }
            rest = rest[found.upperBound...]
        }
        return nil
    }

    /// A part between its boundaries: a line break, headers, an empty line, the content, a line break.
    private static func part(_ bytes: ArraySlice<UInt8>) throws(InvalidValue) -> Part {
        var part = Part(headers: [:], body: bytes)
        var isFirst = true
        while let end = part.body.firstIndex(of: UInt8(ascii: "\n")) {
            var line = part.body[..<end]
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            part.body = part.body[(end + 1)...]
            // The rest of the boundary's own line.
            if isFirst {
                isFirst = false
                continue
            }
            if line.isEmpty {
                if part.body.last == UInt8(ascii: "\n") { part.body.removeLast() }
                if part.body.last == UInt8(ascii: "\r") { part.body.removeLast() }
                return part
            }
            guard line.count <= Self.longestHeader, let colon = line.firstIndex(of: UInt8(ascii: ":")) else { break }
            let name = String(decoding: line[..<colon], as: UTF8.self)[...].trimming().lowercased()
            part.headers[name] = String(String(decoding: line[(colon + 1)...], as: UTF8.self)[...].trimming())
        }
        throw InvalidValue(
            "the headers of a part must have at most \(Self.longestHeader) bytes each, and end with an empty line"
        )
    }

    /// Of a part.
    private static let longestHeader = 1024

    private static func handles(_ bytes: [UInt8]) throws(InvalidValue) -> [String] {
        let fault = InvalidValue(
            member: "devices",
            "must be a JSON array of 1 to \(WireNames.maximumHandles) handles"
        )
        guard case .array(let values)? = try? JSONReader.read(bytes),
            (1...WireNames.maximumHandles).contains(values.count)
        else { throw fault }
        var handles: [String] = []
        for value in values {
            guard case .string(let text) = value else { throw fault }
            handles.append(text)
        }
        return handles
    }
}
