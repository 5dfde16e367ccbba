package import HTTPTypes
package import Hummingbird
import NIOCore
package import PushModel
package import Store

/// A refusal, as `application/problem+json` (RFC 9457).
package struct Problem: Error, Sendable, Equatable {
    package let status: HTTPResponse.Status
    package let detail: String
    /// The members of the request that are wrong.
    package var errors: [InvalidValue] = []
    package var headers: HTTPFields = [:]
    /// The last part of the problem's type; nil = the status is enough.
    package var type: String?
    /// The completed part of a request with many parts.
    package var done: JSONValue?

    package init(
        _ status: HTTPResponse.Status,
        _ detail: String,
        errors: [InvalidValue] = [],
        headers: HTTPFields = [:],
        type: String? = nil
    ) {
        self.status = status
        self.detail = detail
        self.errors = errors
        self.headers = headers
        self.type = type
    }

    package static func invalid(_ errors: [InvalidValue]) -> Problem {
        Problem(
            .badRequest,
            errors.count == 1 ? errors[0].description : "several members are wrong",
            errors: errors,
            type: "invalid-request"
        )
    }

    package static func invalid(_ member: String, _ reason: String) -> Problem {
        .invalid([InvalidValue(member: member, reason)])
    }

    package static func invalid(_ error: JSONSyntaxError) -> Problem {
        Problem(
            .badRequest,
            error.ofBody,
            type: "malformed-json"
        )
    }

    /// A cursor that was not given out, or of another list.
    package static let wrongCursor = Problem.invalid("cursor", "is not a cursor of this list")

    /// What the operator is told of, and nobody else.
    package static let internalError = Problem(.internalServerError, "internal error; see the server's log")

    package static func notFound(_ detail: String) -> Problem { Problem(.notFound, detail) }

    package static func forbidden(_ detail: String) -> Problem { Problem(.forbidden, detail) }

    /// 503 or 429, with the seconds after which to try again.
    package static func later(
        _ status: HTTPResponse.Status,
        _ detail: String,
        seconds: Int,
        type: String? = nil
    ) -> Problem {
        Problem(status, detail, headers: [.retryAfter: String(max(1, seconds))], type: type)
    }

    /// 503: whether a change was made nobody knows.
    package static func unknownChange(_ reason: String, isRepeatable: Bool) -> Problem {
        let lost = "it is not known whether the change was made: \(reason); "
        return isRepeatable
            ? .later(.serviceUnavailable, lost + Self.safeRepeat, seconds: 5)
            : Problem(.serviceUnavailable, lost + Self.unsafeRepeat)
    }

    private static let safeRepeat = "repeating it is safe"
    private static let unsafeRepeat = "look before you repeat it"

    package init(_ refusal: Refusal) {
        let status: HTTPResponse.Status =
            switch refusal.kind {
            case .forbidden: .forbidden
            case .impossible: .unprocessableContent
            }
        self.init(status, refusal.reason, errors: refusal.fault.map { [$0] } ?? [], type: refusal.code)
    }

    /// Maps a failure of the store to a status (rule 19).
    ///
    /// - Parameters:
    ///   - error: The failure.
    ///   - isRepeatable: Whether a repeat does no harm where the request may have been done: clients obey `Retry-After` without looking.
    package init(_ error: StoreError, isRepeatable: Bool = false) {
        switch error.code {
        case .backlogFull:
            self = .later(.serviceUnavailable, "the job backlog is full", seconds: 10)
        case .quotaReached:
            // The store's message names the quota, and contains no values of rows.
            self = Problem(.insufficientStorage, error.message, type: "quota-reached")
        case .invalidCursor:
            self = .wrongCursor
        case .conflict:
            self = Problem(.conflict, "that name is taken")
        case .lastOperator:
            self = Problem(
                .conflict,
                "this is the app's last operator: make another account or key an operator first",
                type: "last-operator"
            )
        case .overdue:
            self = .later(
                .serviceUnavailable,
                "the store is busy: nothing of the request was done; try again",
                seconds: 1
            )
        case .unavailable:
            self = .later(.serviceUnavailable, "the store is unavailable; try again", seconds: 5)
        case .unknown:
            let lost = "the store's answer was lost, so the request may have been done; "
            self =
                isRepeatable
                ? .later(.serviceUnavailable, lost + Self.safeRepeat, seconds: 5, type: Self.outcomeUnknown)
                : Problem(.serviceUnavailable, lost + Self.unsafeRepeat, type: Self.outcomeUnknown)
        default:
            self = .internalError
        }
    }

    private static let outcomeUnknown = "outcome-unknown"

    /// Whether the request may have been done, and a repeat might do it twice.
    package var mayBeDoneTwice: Bool { self.type == Self.outcomeUnknown && self.headers[.retryAfter] == nil }

    package func response() -> Response {
        var headers = self.headers
        headers[.contentType] = Self.mediaType
        return Response(
            status: self.status,
            headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: self.json.bytes))
        )
    }

    package static let mediaType = "application/problem+json"

    package var json: JSONValue {
        let errors: JSONValue? =
            self.errors.isEmpty
            ? nil
            : .array(self.errors.map { .members(["member": .string($0.member), "reason": .string($0.reason)]) })
        return .members([
            "type": .string(self.type.map { "urn:pushline:problem:\($0)" } ?? "about:blank"),
            "title": .string(self.status.reasonPhrase),
            "status": .integer(self.status.code),
            "detail": .string(self.detail),
            "errors": errors,
            "done": self.done,
        ])
    }
}

/// A failure in the middle of a request of which a part is done and stays done.
package struct PartlyDone: Error {
    package let cause: any Error
    /// The member `done` of the problem response.
    package let done: JSONValue

    package init(cause: any Error, done: JSONValue) {
        self.cause = cause
        self.done = done
    }
}

extension HTTPResponse.Status {
    /// RFC 4918, 11.5.
    package static let insufficientStorage = HTTPResponse.Status(code: 507, reasonPhrase: "Insufficient Storage")
}
