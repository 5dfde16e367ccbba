import Crypto
import Foundation
import NIOCore
import PushModel

/// The rules for one push (RFC 8030, RFC 8291, RFC 8292; contract, 4).
struct WebPushRules: Sendable {
    /// A fault of a push.
    struct Rejection: Error, Equatable {
        let status: Int
        let reason: String

        init(_ status: Int, _ reason: String) {
            self.status = status
            self.reason = reason
        }
    }

    /// The key that all subscriptions were made with.
    let key: P256.Signing.PublicKey

    private static let urgencies: Set<String> = ["very-low", "low", "normal", "high"]

    /// Checks a push, and reads its message.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - origin: The push service's own.
    ///   - browser: Whose endpoint it is; nil = nobody's.
    /// - Returns: The message; nil if the push has none.
    func check(
        _ request: InboundRequest,
        origin: String,
        _ browser: SimulatedBrowsers.Browser?
    ) -> Result<[UInt8]?, Rejection> {
        guard request.method == "POST" else { return .failure(Rejection(405, "MethodNotAllowed")) }
        guard let browser else { return .failure(Rejection(404, "BadPath")) }
        if let rejection = self.fault(ofAuthorization: request["authorization"], origin: origin) {
            return .failure(rejection)
        }
        if let rejection = Self.fault(ofHeaders: request) { return .failure(rejection) }
        if request.bodySize > SimulatedBrowsers.Browser.maximumBody {
            return .failure(Rejection(413, "PayloadTooLarge"))
        }
        guard request.bodySize > 0 else { return .success(nil) }
        guard request["content-encoding"] == "aes128gcm",
            let message = browser.decrypt(Array(request.body.readableBytesView))
        else { return .failure(Rejection(400, "BadWebPushRequest")) }
        return .success(message)
    }

    private static func fault(ofHeaders request: InboundRequest) -> Rejection? {
        guard let ttl = request["ttl"], ttl.utf8.allSatisfy({ (0x30...0x39).contains($0) }), Int(ttl) != nil else {
            return Rejection(400, "BadTtl")
        }
        if let urgency = request["urgency"], !Self.urgencies.contains(urgency) { return Rejection(400, "BadUrgency") }
        // As strict as Apple, which decodes it as base64url.
        if let topic = request["topic"] {
            let isTopic =
                (1...32).contains(topic.utf8.count) && Base64URL.decode(topic).map { Base64URL.encode($0) } == topic
            if !isTopic { return Rejection(400, "BadWebPushTopic") }
        }
        return nil
    }

    /// `vapid t=TOKEN, k=KEY`.
    private func fault(ofAuthorization text: String?, origin: String) -> Rejection? {
        guard let text else { return Rejection(401, "MissingAuthorizationHeader") }
        let refused = Rejection(403, "BadAuthorizationHeader")
        guard text.prefix(6).lowercased() == "vapid " else { return refused }
        var values: [String: Substring] = [:]
        for part in text.dropFirst(6).split(separator: ",") {
            let pair = part.split(separator: "=", maxSplits: 1)
            guard pair.count == 2 else { return refused }
            values[pair[0].trimmingCharacters(in: .whitespaces)] = pair[1]
        }
        guard let token = values["t"].flatMap({ SignedToken($0) }), let bytes = values["k"].flatMap(Base64URL.decode)
        else { return refused }
        guard bytes == Array(self.key.x963Representation) else { return Rejection(403, "VapidPkHashMismatch") }
        let now = Date.now.timeIntervalSince1970
        let subject = token.claims["sub"] as? String ?? ""
        guard token.header["alg"] as? String == "ES256", token.isSigned(by: self.key),
            token.claims["aud"] as? String == origin,
            let end = token.seconds("exp"), end > now, end <= now + 86_400,
            subject.hasPrefix("mailto:") || subject.hasPrefix("https://")
        else { return Rejection(403, "BadJwtToken") }
        return nil
    }
}
