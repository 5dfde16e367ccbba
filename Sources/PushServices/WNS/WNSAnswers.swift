import OutgoingHTTP

/// The classification of WNS' answers.
enum WNSAnswers {
    /// Our word for the 410 that is about the sender, not the channel.
    static let domainBlocked = "domain blocked"

    static let rules: [AnswerRule] = [
        AnswerRule(200, "received", .accepted),
        AnswerRule(200, "dropped", .permanent),
        AnswerRule(200, "channelthrottled", .waitDevice),
        AnswerRule(200, nil, .accepted),
        AnswerRule(400, nil, .permanent),
        AnswerRule(401, nil, .credential),
        // Of another app: a burst of these is for the caller's breaker.
        AnswerRule(403, nil, .drop),
        AnswerRule(404, nil, .drop),
        AnswerRule(405, nil, .permanent),
        // Other services use 429.
        AnswerRule(406, nil, .wait),
        AnswerRule(410, domainBlocked, .stop),
        AnswerRule(410, nil, .drop),
        AnswerRule(412, nil, .waitDevice),
        AnswerRule(413, nil, .permanent),
        AnswerRule(500, nil, .wait),
        AnswerRule(503, nil, .wait),
    ]

    private static let table = AnswerTable(rules)

    /// Reads an answer.
    ///
    /// - Parameters:
    ///   - status: The HTTP status.
    ///   - header: Returns the value of a header.
    /// - Returns: The classified answer.
    static func answer(status: Int, header: (String) -> String?) -> Answer {
        let description = header("X-WNS-Error-Description").map(ForeignText.sentence)
        let word: String? =
            switch status {
            case 200: header("X-WNS-Status")?.lowercased()
            case 410 where description?.lowercased().contains("blocked") == true: WNSAnswers.domainBlocked
            default: nil
            }
        let answer = self.table.answer(status: status, reason: word)
        var retryAfter = RetryAfter.wait(header)
        if answer == .waitDevice {
            let longer = header("X-WNS-CONTINUE-AFTER").flatMap { RetryAfter.parse($0) }
            retryAfter = retryAfter ?? longer ?? (status == 412 ? .seconds(3600) : .seconds(600))
        }
        let spoken = [word.map(ForeignText.word), description].compactMap { $0 }.joined(separator: ": ")
        return Answer(
            answer,
            status: status,
            reason: spoken.isEmpty ? "status \(status)" : ForeignText.sentence(spoken),
            retryAfter: retryAfter
        )
    }
}
