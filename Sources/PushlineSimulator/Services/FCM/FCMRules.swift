import Foundation
import PushModel

/// Google's rules for one message (contract, 2.2 to 2.4).
struct FCMRules: Sendable {
    /// A fault of a message.
    struct Rejection: Equatable {
        /// The `google.rpc` name.
        var status: String
        /// The FcmError code, where there is one.
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

    private static let rootMembers: Set<String> = ["message", "validate_only", "validateOnly"]
    private static let messageMembers: Set<String> = [
        "name", "data", "notification", "android", "webpush", "apns", "fcm_options", "fcmOptions", "token", "topic",
        "condition", "fid",
    ]
    private static let androidMembers: Set<String> = [
        "collapse_key", "collapseKey", "priority", "ttl", "restricted_package_name", "restrictedPackageName", "data",
        "notification", "fcm_options", "fcmOptions", "direct_boot_ok", "directBootOk", "bandwidth_constrained_ok",
        "bandwidthConstrainedOk", "restricted_satellite_ok", "restrictedSatelliteOk",
    ]
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
            try Self.refuseUnknown(root, known: Self.rootMembers, at: "")
            guard let message = root["message"] as? [String: Any] else {
                throw Self.bad("Message is required.", field: "message")
            }
            try Self.refuseUnknown(message, known: Self.messageMembers, at: "message")
            let target = try Self.target(of: message)
            let limit = message["topic"] != nil || message["condition"] != nil ? 2048 : 4096
            try Self.checkData(message["data"], at: "message.data")
            if let android = message["android"] { try Self.checkAndroid(android) }
            if let fault = FCMFieldRules.fault(in: message) { throw Self.bad(fault.message, field: fault.field) }
            if Self.size(of: message) > limit {
                throw Self.bad("Message is too big.", field: "message")
            }
            let isDryRun = (root["validate_only"] ?? root["validateOnly"]) as? Bool ?? false
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

    private static func refuseUnknown(
        _ object: [String: Any],
        known: Set<String>,
        at place: String
    ) throws(RejectionError) {
        for name in object.keys where !known.contains(name) {
            throw Self.bad("Invalid JSON payload received. Unknown name \"\(name)\" at '\(place)'.", field: place)
        }
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
        guard let value else { return }
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

    private static func checkAndroid(_ value: Any) throws(RejectionError) {
        guard let android = value as? [String: Any] else {
            throw Self.bad("Invalid value at 'message.android'", field: "message.android")
        }
        try Self.refuseUnknown(android, known: Self.androidMembers, at: "message.android")
        try Self.checkData(android["data"], at: "message.android.data")
        if let ttl = android["ttl"] {
            guard let text = ttl as? String, text.hasSuffix("s"), let seconds = Double(text.dropLast()), seconds >= 0,
                text.utf8.allSatisfy({ $0 == 0x2E || $0 == 0x73 || (0x30...0x39).contains($0) }), seconds <= 2_419_200
            else {
                throw Self.bad("Invalid value at 'message.android.ttl'", field: "message.android.ttl")
            }
        }
        if let priority = android["priority"] {
            guard let text = priority as? String, ["NORMAL", "HIGH", "normal", "high"].contains(text) else {
                throw Self.bad("Invalid value at 'message.android.priority'", field: "message.android.priority")
            }
        }
    }

    /// The limited size: the bytes of names and values in `data` and `notification`.
    private static func size(of message: [String: Any]) -> Int {
        var size = 0
        for member in ["data", "notification"] {
            for (name, value) in message[member] as? [String: Any] ?? [:] {
                size += name.utf8.count + ((value as? String)?.utf8.count ?? 0)
            }
        }
        if let android = message["android"] as? [String: Any] { size += Self.size(of: android) }
        return size
    }
}
