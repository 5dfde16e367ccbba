import Foundation
import PushModel

/// Google's rules for one message (contract, 2.2 to 2.4).
struct FCMRules: Sendable {
    /// A fault of a message.
    struct Rejection: Equatable {
        /// The `google.rpc` name.
        var status: String
        /// The FcmError code, if there is one.
        var code: String? = nil
        var message: String
        /// The member at fault.
        var field: String? = nil
    }

    /// A message in order.
    struct Message: Equatable {
        /// Token, topic or condition, or `fid:` and an installation id: as the handle of a device.
        var target: String
        var isDryRun: Bool
    }

    private static let targets = ["token", "topic", "condition", "fid"]

    /// Checks a body.
    ///
    /// - Parameter data: The JSON of the request.
    /// - Returns: The message, or its fault.
    func check(_ data: Data) -> Result<Message, RejectionError> {
        do throws(RejectionError) {
            guard let root = (try? JSONSerialization.jsonObject(with: data)) as? [String: Any] else {
                throw Self.bad("Invalid JSON payload received. Unexpected token.", field: nil)
            }
            if let fault = FCMFieldRules.fault(in: root) { throw Self.bad(fault.message, field: fault.field) }
            guard let given = root["message"] as? [String: Any] else {
                throw Self.bad("Message is required.", field: "message")
            }
            let message = given.filter { !($0.value is NSNull) }
            let target = try Self.target(of: message)
            try Self.checkData(message["data"], at: "message.data")
            try Self.checkData((message["android"] as? [String: Any])?["data"], at: "message.android.data")
            if let apns = message["apns"] as? [String: Any],
                let fault = FCMAppleRules.fault(in: apns, hasNotification: message["notification"] != nil)
            {
                throw Self.bad(fault.message, field: fault.field)
            }
            let limit = message["topic"] != nil || message["condition"] != nil ? 2048 : 4096
            if Self.size(of: message) > limit { throw Self.bad("Message is too big.", field: "message") }
            let flag = root["validate_only"] ?? root["validateOnly"]
            let isDryRun = flag as? Bool ?? (flag as? String == "true")
            return .success(Message(target: target, isDryRun: isDryRun))
        } catch {
            return .failure(error)
        }
    }

    /// A rejection on its way up.
    struct RejectionError: Error {
        var rejection: Rejection
    }

    private static func bad(_ message: String, field: String?) -> RejectionError {
        RejectionError(rejection: Rejection(status: "INVALID_ARGUMENT", code: nil, message: message, field: field))
    }

    private static func target(of message: [String: Any]) throws(RejectionError) -> String {
        let given = Self.targets.filter { message[$0] != nil }
        guard given.count == 1, let kind = given.first else {
            throw Self.bad("Exactly one of token, topic, condition or fid is required", field: "message")
        }
        guard let target = message[kind] as? String, !target.isEmpty else {
            throw Self.bad("Invalid value at 'message.\(kind)' (TYPE_STRING)", field: "message.\(kind)")
        }
        switch kind {
        case "token" where !Self.isToken(target):
            throw Self.invalid("The registration token is not a valid FCM registration token", field: "message.token")
        case "fid":
            guard Self.isInstallation(target) else {
                throw Self.invalid("The Firebase installation ID is not valid", field: "message.fid")
            }
            return FCMInstallation.prefix + target
        default: return target
        }
    }

    private static func invalid(_ message: String, field: String) -> RejectionError {
        let code = "INVALID_ARGUMENT"
        return RejectionError(rejection: Rejection(status: code, code: code, message: message, field: field))
    }

    /// 22 characters of Base64URL, of which the first has four fixed bits.
    private static func isInstallation(_ text: String) -> Bool { text.wholeMatch(of: /[cdef][A-Za-z0-9_-]{21}/) != nil }

    private static func isToken(_ text: String) -> Bool {
        text.utf8.count <= 4096
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: ":"),
                    UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }

    private static func checkData(_ value: Any?, at place: String) throws(RejectionError) {
        guard let value, !(value is NSNull) else { return }
        guard let data = value as? [String: Any] else {
            throw Self.bad("Invalid value at '\(place)' (TYPE_MAP)", field: place)
        }
        for (name, value) in data {
            guard value is String else {
                throw Self.bad("Invalid value at '\(place)[0].value' (TYPE_STRING)", field: "\(place)[0].value")
            }
            if name == "from" || name == "message_type" || name == "gcm" || name.hasPrefix("google")
                || name.hasPrefix("gcm.notification.")
            {
                throw Self.bad("Invalid data payload key: \(name)", field: "\(place)[\(name)]")
            }
        }
    }

    /// The size that Google limits: the largest of the parts for Android, for browsers and for Apple's devices.
    private static func size(of message: [String: Any]) -> Int {
        func texts(_ part: Any?) -> Int {
            let part = part as? [String: Any] ?? [:]
            return [part["data"], part["notification"]].compactMap(\.self).reduce(0) { $0 + Self.bytes($1) }
        }
        let payload = (message["apns"] as? [String: Any])?["payload"].map(Self.bytes) ?? 0
        return max(texts(message) + texts(message["android"]), texts(message["webpush"]), payload)
    }

    /// The bytes of names and values, without those of JSON: how Google counts is not documented, and this is never more.
    private static func bytes(_ value: Any) -> Int {
        switch value {
        case let text as String: text.utf8.count
        case let list as [Any]: list.reduce(0) { $0 + Self.bytes($1) }
        case let object as [String: Any]: object.reduce(0) { $0 + $1.key.utf8.count + Self.bytes($1.value) }
        case let number as NSNumber: number.stringValue.utf8.count
        default: 0
        }
    }
}
