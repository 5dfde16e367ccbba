package import HTTP2Engine
import OutgoingHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The classification of FCM's answers.
///
/// Google's human message can be the same for different faults: the details decide.
package enum FCMAnswers {
    /// Our word for INVALID_ARGUMENT that is about the target.
    static let invalidTarget = "INVALID_ARGUMENT (token)"
    /// Our word for a quota of the device, not of the project.
    static let deviceQuota = "QUOTA_EXCEEDED (device)"

    static let rules: [AnswerRule] = [
        AnswerRule(400, invalidTarget, .drop),
        AnswerRule(400, "INVALID_ARGUMENT", .permanent),
        AnswerRule(400, nil, .permanent),
        AnswerRule(401, "THIRD_PARTY_AUTH_ERROR", .stop),
        AnswerRule(401, "APNS_AUTH_ERROR", .stop),
        AnswerRule(401, nil, .credential),
        // Of another project: a burst of these is for the caller's breaker.
        AnswerRule(403, "SENDER_ID_MISMATCH", .drop),
        AnswerRule(403, nil, .stop),
        AnswerRule(404, "UNREGISTERED", .drop),
        // Wrong project or path, not a dead token.
        AnswerRule(404, nil, .stop),
        AnswerRule(429, deviceQuota, .waitDevice),
        AnswerRule(429, "QUOTA_EXCEEDED", .wait),
        AnswerRule(429, nil, .wait),
        AnswerRule(500, "INTERNAL", .wait),
        AnswerRule(500, nil, .wait),
        AnswerRule(502, nil, .wait),
        AnswerRule(503, "UNAVAILABLE", .wait),
        AnswerRule(503, nil, .wait),
        AnswerRule(504, nil, .wait),
    ]

    private static let table = AnswerTable(rules)
    static let interestingHeaders = ["retry-after", "date"]

    private struct Body: Decodable {
        struct Fault: Decodable {
            let message: String?
            let details: [Detail]?
        }
        struct Detail: Decodable {
            let type: String?
            let errorCode: String?
            let fieldViolations: [Violation]?
            let violations: [Violation]?

            private enum CodingKeys: String, CodingKey {
                case type = "@type"
                case errorCode, fieldViolations, violations
            }
        }
        struct Violation: Decodable {
            let field: String?
            let subject: String?
            let description: String?
        }
        let error: Fault?
    }

    package static func answer(_ response: HTTP2Response) -> Answer {
        guard response.status != 200 else { return Answer(.accepted, status: 200, reason: "") }
        let fault = (try? JSONDecoder().decode(Body.self, from: Data(response.body)))?.error
        let reason = fault.flatMap { FCMAnswers.word($0, status: response.status) }
        let answer = self.table.answer(status: response.status, reason: reason)
        var retryAfter = RetryAfter.wait { response[$0.lowercased()] }
        if answer == .wait || answer == .waitDevice {
            // Sooner than this, Google takes senders for abusers.
            retryAfter = retryAfter ?? (response.status == 429 ? .seconds(60) : .seconds(10))
        }
        let word = reason ?? "status \(response.status)"
        // Of a refused credential it names the project with the permission or the API that it lacks: that is not the sender's.
        let isOperators = answer == .stop || answer == .credential
        let detail = isOperators ? fault?.message.map(ForeignText.sentence) : nil
        return Answer(
            answer,
            status: response.status,
            reason: isOperators ? word : Self.words(word, of: answer, fault),
            detail: detail?.isEmpty == false ? detail : nil,
            retryAfter: retryAfter
        )
    }

    /// The word that decides, and behind it which fields are at fault, and why: what a sender needs to mend the message.
    private static func words(_ word: String, of answer: AnswerClass, _ fault: Body.Fault?) -> String {
        let violations = (fault?.details ?? []).flatMap { $0.fieldViolations ?? [] }.prefix(Self.mostViolations)
        var said = violations.map { [$0.field, $0.description].compactMap { $0 }.joined(separator: ": ") }
        if violations.isEmpty, answer == .permanent, let message = fault?.message { said = [message] }
        return ForeignText.sentence(([word] + said.filter { !$0.isEmpty }).joined(separator: "; "))
    }

    /// No more of them are read into a reason, which has room for two or three.
    private static let mostViolations = 5

    /// The word that decides: FcmError's, or one of ours where that is not enough.
    private static func word(_ fault: Body.Fault, status: Int) -> String? {
        let details = fault.details ?? []
        let code = details.first { $0.type == "type.googleapis.com/google.firebase.fcm.v1.FcmError" }?.errorCode
        let violations = details.flatMap { $0.fieldViolations ?? [] }
        switch code {
        case nil where status == 400 && !violations.isEmpty: return "INVALID_ARGUMENT"
        case nil, "UNSPECIFIED_ERROR": return nil
        case "INVALID_ARGUMENT":
            let isTarget =
                violations.isEmpty
                ? fault.message?.contains("registration token") == true
                : violations.allSatisfy { $0.field == "message.token" || $0.field == "message.fid" }
            return isTarget ? FCMAnswers.invalidTarget : "INVALID_ARGUMENT"
        case "QUOTA_EXCEEDED":
            let texts = details.flatMap { $0.violations ?? [] }.flatMap { [$0.subject, $0.description] }
            let isDevice = texts.contains { $0?.lowercased().contains("device") == true }
            return isDevice ? FCMAnswers.deviceQuota : "QUOTA_EXCEEDED"
        case let code?: return ForeignText.word(code)
        }
    }
}
