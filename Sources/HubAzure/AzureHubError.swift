import HubWire
import NIOHTTP1
import OutgoingHTTP
import PushModel

/// Why a call of a hub failed.
package struct AzureHubError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What a caller can do about it.
    package enum Kind: String, Sendable {
        /// The hub cannot be reached, or is out of order: the same call may succeed later.
        case retryLater
        /// 429, or 403 and 409 with `Retry-After`: too many calls, or a quota is used up.
        case throttled
        /// 401: the key is wrong, the rule lacks the right, or a clock is wrong.
        case unauthorized
        /// 403 without `Retry-After`: the rule lacks the right, or the tier has no such operation.
        case forbidden
        /// 404: no such hub, registration or notification.
        case notFound
        /// 410: the id of a registration has retired; ask for a new one.
        case gone
        /// 409.
        case conflict
        /// 412: the registration was changed since.
        case preconditionFailed
        /// 413.
        case tooLarge
        /// Anything else that no repetition mends, such as 400.
        case refused
        /// The connection broke, time ran out or the answer makes no sense, and the hub may have done what was asked (rule 18).
        case unanswered
    }

    package let kind: Kind
    /// The status of the answer; nil = there was none.
    package let status: Int?
    /// How long the hub asks to wait, at most 7 days.
    package let retryAfter: Duration?
    /// The id under which the hub's operator finds the request.
    package let trackingID: String?
    /// The fault in words, without key, token or a whole handle.
    package let message: String

    init(_ kind: Kind, _ message: String, status: Int? = nil, retryAfter: Duration? = nil, trackingID: String? = nil) {
        self.kind = kind
        self.message = message
        self.status = status
        self.retryAfter = retryAfter
        self.trackingID = trackingID
    }

    /// Whether the hub may have done what was asked: a repeated send may then be a second one.
    ///
    /// So it is without an answer, and where the hub or a proxy failed with the request in its hands: 408, and every 5xx but those
    /// that say that nothing was done (501, 503, 505). Proxies have statuses of their own there.
    package var mayHaveBeenTaken: Bool {
        guard self.kind != .unanswered else { return true }
        guard let status = self.status else { return false }
        return status == 408 || status >= 500 && ![501, 503, 505].contains(status)
    }

    package var description: String {
        let status = self.status.map { " (status \($0))" } ?? ""
        let tracking = self.trackingID.map { ", TrackingId \($0)" } ?? ""
        return "\(self.message)\(status)\(tracking)"
    }
}

// MARK: Answers

extension AzureHubError {
    /// The error that an answer stands for.
    init(_ answer: AzureAnswer, at now: Timestamp, hiding key: String) {
        let wait = RetryAfter.wait(now: now) { answer.headers.first(name: $0) }
        var detail = ""
        if case .whole(let bytes) = answer.body, let error = try? WireError(reading: bytes) {
            detail = Self.safe(error.detail.replacing(key, with: "…"))
        }
        let kind = Self.kind(of: answer.status, asksToWait: wait != nil)
        self.init(
            kind,
            detail.isEmpty ? kind.words : "\(kind.words): \(detail)",
            status: answer.status,
            retryAfter: wait,
            trackingID: answer.trackingID
        )
    }

    private static func kind(of status: Int, asksToWait: Bool) -> Kind {
        switch status {
        case 401: .unauthorized
        // Without the header it is about rights, and with it about quotas.
        case 403: asksToWait ? .throttled : .forbidden
        case 404: .notFound
        case 408: .retryLater
        case 409: asksToWait ? .throttled : .conflict
        case 410: .gone
        case 412: .preconditionFailed
        case 413: .tooLarge
        case 429: .throttled
        case 501, 505: .refused
        case 500...: .retryLater
        default: .refused
        }
    }

    /// Words of the hub, without what may be a handle or a key: a long word with a digit.
    static func safe(_ text: String) -> String {
        let words = text.split(separator: " ").map { word in
            word.utf8.count > 20 && word.utf8.contains { (0x30...0x39).contains($0) } ? "\(word.prefix(4))…" : word[...]
        }
        return String(
            String.UnicodeScalarView(
                words.joined(separator: " ").unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }.prefix(300)
            )
        )
    }
}

extension AzureHubError.Kind {
    fileprivate var words: String {
        switch self {
        case .retryLater: "the hub is out of order"
        case .throttled: "the hub takes no more for now"
        case .unauthorized: "the hub refuses the token; check the key and the rights of its rule, and this host's clock"
        case .forbidden: "the rule lacks the right, or the hub's tier does not offer this"
        case .notFound: "the hub does not have it"
        case .gone: "the hub has retired the registration's id"
        case .conflict: "the hub says it conflicts with something else"
        case .preconditionFailed: "the registration was changed since it was read"
        case .tooLarge: "the hub finds the request too large"
        case .refused: "the hub refuses the request"
        case .unanswered: "the hub gave no answer"
        }
    }
}
