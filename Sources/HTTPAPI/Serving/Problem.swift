import HTTPTypes
import Hummingbird
import NIOCore
import PushModel
import Store

/// A refusal, as `application/problem+json` (RFC 9457).
struct Problem: Error, Sendable, Equatable {
    let status: HTTPResponse.Status
    let detail: String
    /// The members of the request that are wrong.
    var errors: [InvalidValue] = []
    var headers: HTTPFields = [:]
    /// The last part of the problem's type; nil = the status is enough.
    var type: String?
    /// The completed part of a request with many parts.
    var done: JSONValue?

    init(
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

    static func invalid(_ errors: [InvalidValue]) -> Problem {
        Problem(
            .badRequest,
            errors.count == 1 ? errors[0].description : "several members are wrong",
            errors: errors,
            type: "invalid-request"
        )
    }

    static func invalid(_ member: String, _ reason: String) -> Problem {
        .invalid([InvalidValue(member: member, reason)])
    }

    static func invalid(_ error: JSONSyntaxError) -> Problem {
        Problem(
            .badRequest,
            "the body is not JSON: line \(error.line), column \(error.column): \(error.reason)",
            type: "malformed-json"
        )
    }

    static func notFound(_ detail: String) -> Problem { Problem(.notFound, detail) }

    static func forbidden(_ detail: String) -> Problem { Problem(.forbidden, detail) }

    /// 503 or 429, with the seconds after which to try again.
    static func later(
        _ status: HTTPResponse.Status,
        _ detail: String,
        seconds: Int,
        type: String? = nil
    ) -> Problem {
        Problem(status, detail, headers: [.retryAfter: String(max(1, seconds))], type: type)
    }

    /// Maps a failure of the store to a status (rule 19).
    init(_ error: StoreError) {
        switch error.code {
        case .backlogFull:
            self = .later(.serviceUnavailable, "the job backlog is full", seconds: 10)
        case .quotaReached:
            // The store's message names the quota, and contains no values of rows.
            self = Problem(.insufficientStorage, error.message, type: "quota-reached")
        case .invalidCursor:
            self = .invalid("cursor", "is not a cursor of this list")
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
            self = .later(
                .serviceUnavailable,
                "the store's answer was lost: the request was done, or not; look, or repeat it with the same Idempotency-Key",
                seconds: 5,
                type: "outcome-unknown"
            )
        default:
            self = Problem(.internalServerError, "internal error; see the server's log")
        }
    }

    func response() -> Response {
        var headers = self.headers
        headers[.contentType] = Self.mediaType
        return Response(
            status: self.status,
            headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: self.json.bytes))
        )
    }

    static let mediaType = "application/problem+json"

    var json: JSONValue {
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
struct PartlyDone: Error {
    let cause: any Error
    /// The member `done` of the problem response.
    let done: JSONValue
}

extension HTTPResponse.Status {
    /// RFC 4918, 11.5.
    static let insufficientStorage = HTTPResponse.Status(code: 507, reasonPhrase: "Insufficient Storage")
}
