import Crypto
import Foundation
import NIOCore
import PushModel

/// Apple's rules for one push, in the order that another mock of APNs checks them; the real order is not documented.
struct APNsRules: Sendable {
    /// The result of the checks.
    enum Verdict: Equatable {
        case accepted
        case refused(String)
    }

    var bundleIDs: [String]
    var keyID: String
    var teamID: String
    var publicKey: P256.Signing.PublicKey
    var tokenUpdates: Int
    var tokenWindow: Double
    /// Whether these are the rules of Apple's development service.
    var isSandbox: Bool

    /// The suffixes of topics, by push type (contract, 1.4).
    static let suffixes: [String: String] = [
        "alert": "", "background": "", "mdm": "", "voip": ".voip", "complication": ".complication",
        "fileprovider": ".pushkit.fileprovider", "location": ".location-query",
        "liveactivity": ".push-type.liveactivity", "pushtotalk": ".voip-ptt", "widgets": ".push-type.widgets",
        "controls": ".push-type.controls",
    ]

    private static let withoutAPS: Set<String> = ["voip", "complication", "fileprovider", "mdm"]

    static let pathPrefix = "/3/device/"
    private static let single: Set<String> = [
        "authorization", "apns-id", "apns-topic", "apns-push-type", "apns-priority", "apns-expiration",
        "apns-collapse-id", "apns-request-id", "apns-channel-id",
    ]

    func check(_ request: InboundRequest, on connection: ConnectionMemory, now: Double) -> Verdict {
        let reason =
            Self.headerFault(request)
            ?? (request.method == "POST" ? nil : "MethodNotAllowed")
            ?? self.topicFault(request, connection.certificate)
            ?? Self.pathFault(request.path)
            ?? self.credentialFault(request, on: connection, now: now)
            ?? Self.deviceFault(request.path)
            ?? Self.payloadFault(request, on: connection)
        return reason.map(Verdict.refused) ?? .accepted
    }

    private static func headerFault(_ request: InboundRequest) -> String? {
        if Self.repeatsHeader(request) { return "DuplicateHeaders" }
        if let id = request["apns-id"], !Self.isCanonicalUUID(id) { return "BadMessageId" }
        if let collapse = request["apns-collapse-id"], collapse.utf8.count > 64 || collapse.isEmpty {
            return "BadCollapseId"
        }
        if let expiration = request["apns-expiration"], !Self.isTime(expiration) { return "BadExpirationDate" }
        let priority = request["apns-priority"] ?? "10"
        guard ["1", "5", "10"].contains(priority) else { return "BadPriority" }
        switch request["apns-push-type"] {
        case "background": if priority != "5" { return "BadPriority" }
        case "liveactivity", "location": if priority == "1" { return "BadPriority" }
        default: break
        }
        return nil
    }

    /// Whether a header stands twice of which there is one.
    static func repeatsHeader(_ request: InboundRequest) -> Bool {
        var seen: Set<String> = []
        for field in request.fields where Self.single.contains(field.name) {
            guard seen.insert(field.name).inserted else { return true }
        }
        return false
    }

    /// Whether it is a time in seconds since 1970.
    ///
    /// Eleven digits end in the year 5138: more is milliseconds by mistake.
    static func isTime(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 11 && text.utf8.allSatisfy(Self.isDigit)
    }

    private func topicFault(_ request: InboundRequest, _ certificate: APNsCertificate?) -> String? {
        // A certificate with a single topic stands for it.
        let only = certificate?.topics.count == 1 ? certificate?.topics.first : nil
        guard let topic = request["apns-topic"] ?? only, !topic.isEmpty else { return "MissingTopic" }
        guard let type = request["apns-push-type"], let suffix = Self.suffixes[type] else { return "InvalidPushType" }
        guard topic.utf8.allSatisfy({ Self.isDigit($0) || Self.isLetter($0) || $0 == 0x2E || $0 == 0x2D }) else {
            return "BadTopic"
        }
        if let topics = certificate?.topics, !topics.isEmpty, !topics.contains(topic) { return "TopicDisallowed" }
        for bundle in self.bundleIDs where topic == bundle || topic.hasPrefix(bundle + ".") {
            return topic == bundle + suffix ? nil : "BadTopic"
        }
        return "TopicDisallowed"
    }

    private static func pathFault(_ path: String) -> String? {
        guard path.hasPrefix(Self.pathPrefix) else { return "BadPath" }
        let token = path.utf8.dropFirst(Self.pathPrefix.utf8.count)
        if token.isEmpty { return "MissingDeviceToken" }
        if token.contains(UInt8(ascii: "/")) { return "BadPath" }
        guard token.count >= 64, token.count.isMultiple(of: 2), token.allSatisfy({ PercentCoding.digit($0) != nil })
        else { return "BadDeviceToken" }
        return nil
    }

    /// No device has a token of ones alone: with it others ask whether their credential is taken.
    private static func deviceFault(_ path: String) -> String? {
        path.dropFirst(Self.pathPrefix.count).utf8.allSatisfy { $0 | 0x20 == UInt8(ascii: "f") }
            ? "BadDeviceToken" : nil
    }

    /// With a certificate, a token is ignored.
    func credentialFault(_ request: InboundRequest, on connection: ConnectionMemory, now: Double) -> String? {
        guard let certificate = connection.certificate else {
            return self.tokenFault(request, on: connection, now: now)
        }
        if certificate.topics.isEmpty { return "BadCertificate" }
        let isOfThisService = self.isSandbox ? certificate.isForDevelopment : certificate.isForProduction
        return isOfThisService ? nil : "BadCertificateEnvironment"
    }

    private func tokenFault(_ request: InboundRequest, on connection: ConnectionMemory, now: Double) -> String? {
        guard let authorization = request["authorization"] else { return "MissingProviderToken" }
        let scheme = authorization.prefix(7)
        guard scheme.lowercased() == "bearer " else { return "MissingProviderToken" }
        let text = String(authorization.dropFirst(7))
        if let known = connection.providerTokens.last(where: { $0.token == text }) {
            return now - known.issued > 3600 ? "ExpiredProviderToken" : nil
        }
        guard let token = SignedToken(text), token.header["alg"] as? String == "ES256",
            token.header["kid"] as? String == self.keyID, token.claims["iss"] as? String == self.teamID,
            let issued = token.seconds("iat"), token.isSigned(by: self.publicKey)
        else { return "InvalidProviderToken" }
        if issued > now + 60 { return "InvalidProviderToken" }
        if now - issued > 3600 { return "ExpiredProviderToken" }
        if connection.current != nil {
            connection.tokenChanges.removeAll { $0 < now - self.tokenWindow }
            guard connection.tokenChanges.count < self.tokenUpdates else { return "TooManyProviderTokenUpdates" }
            connection.tokenChanges.append(now)
            connection.providerTokens.removeAll { now - $0.issued > 3600 }
        }
        connection.providerTokens.append((text, issued))
        connection.current = text
        return nil
    }

    private static func payloadFault(_ request: InboundRequest, on connection: ConnectionMemory) -> String? {
        if request.bodySize == 0 { return "PayloadEmpty" }
        let type = request["apns-push-type"] ?? ""
        if request.bodySize > (type == "voip" ? 5120 : 4096) { return "PayloadTooLarge" }
        // What is good for an alert may be none for a Live Activity.
        let isLiveActivity = type == "liveactivity"
        if !isLiveActivity, connection.lastGoodBody == request.body { return nil }
        let data = Data(request.body.readableBytesView)
        guard let root = (try? JSONSerialization.jsonObject(with: data)) as? [String: Any], !root.isEmpty else {
            return "PayloadEmpty"
        }
        // Types of PushKit and MDM have members of their own.
        if Self.withoutAPS.contains(type) { return nil }
        guard let aps = root["aps"] as? [String: Any] else { return "PayloadEmpty" }
        if isLiveActivity, !LiveActivityRules.fits(aps) { return "InvalidPushType" }
        connection.lastGoodBody = request.body
        return nil
    }

    /// 8-4-4-4-12 lower-case hexadecimal digits.
    static func isCanonicalUUID(_ text: String) -> Bool {
        let bytes = text.utf8
        guard bytes.count == 36 else { return false }
        for (place, byte) in bytes.enumerated() {
            if [8, 13, 18, 23].contains(place) {
                guard byte == UInt8(ascii: "-") else { return false }
            } else {
                guard Self.isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte) else { return false }
            }
        }
        return true
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
}
