import PushModel

/// Builds the body of an FCM request: the shared message with a device's token or installation id put in front.
struct FCMBody: Sendable {
    private static let token = Array(#""token":""#.utf8)
    private static let installation = Array(#""fid":""#.utf8)
    private static let installationPrefix = Array(FCMInstallation.prefix.utf8)

    /// To the target's name.
    private let prefix: [UInt8]
    /// From the end of the target to the end of the body.
    private let suffix: [UInt8]

    /// - Parameters:
    ///   - message: A JSON object, or nil comes of it.
    ///   - isDryRun: Whether FCM is to validate it and deliver nothing.
    init?(message: [UInt8], isDryRun: Bool = false) {
        guard let start = message.firstIndex(where: { !FCMBody.isSpace($0) }), message[start] == UInt8(ascii: "{"),
            let first = message[(start + 1)...].first(where: { !FCMBody.isSpace($0) })
        else { return nil }
        self.prefix = Array((isDryRun ? #"{"validate_only":true,"message":{"# : #"{"message":{"#).utf8)
        let separator = first == UInt8(ascii: "}") ? #"""# : #"","#
        self.suffix = Array(separator.utf8) + message[(start + 1)...] + [UInt8(ascii: "}")]
    }

    /// Appends the body for a device.
    func append(handle: ArraySlice<UInt8>, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: self.prefix)
        let isInstallation = handle.starts(with: Self.installationPrefix)
        bytes.append(contentsOf: isInstallation ? Self.installation : Self.token)
        let target = isInstallation ? handle.dropFirst(Self.installationPrefix.count) : handle
        let isPlain = target.allSatisfy {
            $0 >= 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
        }
        if isPlain { bytes.append(contentsOf: target) } else { bytes.appendJSONEscaped(target) }
        bytes.append(contentsOf: self.suffix)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }
}
