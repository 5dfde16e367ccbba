import OutgoingHTTP
import PushModel

/// The classification of the answers of browsers' push services, which share the statuses of RFC 8030 and little else.
enum WebPushAnswers {
    /// Our word for a subscription that was made with another key than the app's.
    static let foreignKey = "the subscription was made with another public key"

    static let rules: [AnswerRule] = [
        AnswerRule(400, nil, .permanent),
        AnswerRule(401, nil, .credential),
        AnswerRule(403, nil, .credential),
        // One such device is not a fault of the app; a burst of these is for the caller's breaker.
        AnswerRule(nil, foreignKey, .drop),
        AnswerRule(404, nil, .drop),
        AnswerRule(405, nil, .permanent),
        AnswerRule(410, nil, .drop),
        AnswerRule(413, nil, .permanent),
        // WNS' status for too many.
        AnswerRule(406, nil, .wait),
        AnswerRule(429, nil, .wait),
    ]

    private static let table = AnswerTable(rules)

    /// Whether what an answer means stands in its body: whose key it is that is refused.
    static func dependsOnBody(_ status: Int) -> Bool { (400...403).contains(status) }

    /// How the services of Apple, Mozilla and Google say that the key is another.
    private static let foreignKeyWords = [
        "vapidpkhashmismatch", "key mismatch", "do not correspond to the credentials",
    ]

    /// Reads an answer.
    ///
    /// A wait is never the whole sender's: the next device may be at another maker's service, and a device that chose its host must
    /// not be able to stop the others.
    ///
    /// - Parameters:
    ///   - status: The HTTP status.
    ///   - retryAfter: How long it asks to wait.
    ///   - body: The beginning of the body.
    /// - Returns: The classified answer.
    static func answer(status: Int, retryAfter: Duration?, body: String) -> Answer {
        let isForeign =
            self.dependsOnBody(status) && self.foreignKeyWords.contains { body.lowercased().contains($0) }
        var answer = self.table.answer(status: status, reason: isForeign ? self.foreignKey : nil)
        switch answer {
        case .wait: answer = .waitDevice
        // A redirect, which is not followed: the device chose the address, so it is not a fault of the app's.
        case .stop: answer = .permanent
        default: break
        }
        let said = [isForeign ? self.foreignKey : nil, self.reason(in: body)].compactMap { $0 }
        return Answer(
            answer,
            status: status,
            reason: said.isEmpty ? "status \(status)" : ForeignText.sentence(said.joined(separator: ": ")),
            retryAfter: retryAfter
        )
    }

    /// What an operator should do about what a browser's service says of a subscription.
    static func advice(on reason: String, status: Int?) -> String? {
        if reason.hasPrefix(Self.foreignKey) { return "pages must subscribe with public_key of this credential" }
        return switch status {
        case 401, 403: "check subject (mailto: or https://, an address that is there), and this host's clock"
        case 404, 410: "the subscription has ended: have the page subscribe again"
        default: nil
        }
    }

    /// `reason` as Apple has it, or `message` as Mozilla; Google answers in plain text.
    private static func reason(in body: String) -> String? {
        var text = body
        if case .object(let members)? = try? JSONReader.read(Array(body.utf8)) {
            let found = members.first { $0.name == "reason" } ?? members.first { $0.name == "message" }
            if case .string(let word)? = found?.value { text = word }
        }
        let words = ForeignText.sentence(text)
        return words.isEmpty ? nil : words
    }
}
