import Foundation

/// The failure of a call.
public struct PushlineError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of failure.
    ///
    /// More kinds may come.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case invalidURL, unreachable, untrusted, timeout, unexpectedAnswer, invalidRequest, unauthorized, forbidden,
                notFound
            case gone, conflict, tooLarge, keyReused, tooManyRequests, unavailable, refused, storage
        }
        private let base: Base

        /// The server's address is none.
        public static let invalidURL = Code(base: .invalidURL)
        /// No connection to the server.
        public static let unreachable = Code(base: .unreachable)
        /// The server's certificate is not one to trust.
        public static let untrusted = Code(base: .untrusted)
        /// No answer came in time.
        ///
        /// Whether the request was worked on is unknown: repeat a send with its idempotency key.
        public static let timeout = Code(base: .timeout)
        /// The answer is not one of this API.
        public static let unexpectedAnswer = Code(base: .unexpectedAnswer)
        /// 400: ``PushlineError/faults`` names the members that are wrong.
        public static let invalidRequest = Code(base: .invalidRequest)
        /// 401: name and password, or the key, are not right.
        public static let unauthorized = Code(base: .unauthorized)
        /// 403: known, but not allowed to.
        public static let forbidden = Code(base: .forbidden)
        /// 404: there is no such thing, or it is somebody else's.
        public static let notFound = Code(base: .notFound)
        /// 410: it was deleted on purpose.
        public static let gone = Code(base: .gone)
        /// 409: it is not in a state for that.
        public static let conflict = Code(base: .conflict)
        /// 413: the body is too large.
        public static let tooLarge = Code(base: .tooLarge)
        /// 422: the idempotency key was used for another request.
        public static let keyReused = Code(base: .keyReused)
        /// 429: too many requests; try again after ``PushlineError/retryAfter``.
        public static let tooManyRequests = Code(base: .tooManyRequests)
        /// 503: the server cannot take it now; try again after ``PushlineError/retryAfter``.
        public static let unavailable = Code(base: .unavailable)
        /// Any other refusal.
        public static let refused = Code(base: .refused)
        /// The device cannot read or write what it keeps of its registration.
        public static let storage = Code(base: .storage)

        /// The kind's name.
        public var description: String { self.base.rawValue }

        init(status: Int) {
            switch status {
            case 400: self = .invalidRequest
            case 401: self = .unauthorized
            case 403: self = .forbidden
            case 404: self = .notFound
            case 409: self = .conflict
            case 410: self = .gone
            case 413: self = .tooLarge
            case 422: self = .keyReused
            case 429: self = .tooManyRequests
            case 503: self = .unavailable
            default: self = .refused
            }
        }

        private init(base: Base) { self.base = base }
    }

    /// A member of the request that is wrong.
    public struct Fault: Sendable, Equatable, Codable {
        /// Such as `to.tag`.
        public let member: String
        /// The fault.
        public let reason: String
    }

    /// The kind of failure.
    public let code: Code
    /// A description of the error.
    public let message: String
    /// The HTTP status; nil where there was no answer.
    public let status: Int?
    /// The members of the request that are wrong, where the server named them.
    public let faults: [Fault]
    /// The seconds until a retry, if the server gave them.
    public let retryAfter: Int?

    /// Whether something else than Pushline seems to have answered: the address is wrong, most likely.
    package let isForeign: Bool

    /// The message.
    public var description: String { self.message }

    /// A failure without an answer of the server, or with one that is not understood.
    package init(_ code: Code, _ message: String, isForeign: Bool = false) {
        self.code = code
        self.message = message
        self.isForeign = isForeign
        self.status = nil
        self.faults = []
        self.retryAfter = nil
    }

    /// Reads an answer other than 2xx: `application/problem+json` (RFC 9457), or only its status.
    ///
    /// - Parameters:
    ///   - answer: The answer.
    ///   - server: The server's address, for the message.
    init(refusal answer: HTTPAnswer, of server: String = "the server") {
        struct Problem: Decodable {
            let title: String?
            let detail: String?
            let errors: [Fault]?
        }
        let problem = try? JSONDecoder().decode(Problem.self, from: answer.body)
        self.code = Code(status: answer.status)
        self.status = answer.status
        self.faults = problem?.errors ?? []
        self.retryAfter = answer.headers["retry-after"].flatMap { Int($0) }
        let said = problem?.detail ?? problem?.title
        // Pushline says why it refuses, and redirects nobody. A proxy before it may refuse in its own way.
        let isForeign = said == nil && (answer.status == 404 || answer.status == 405 || answer.status / 100 == 3)
        let words =
            isForeign
            ? "\(server) answered \(answer.status), and is not a Pushline API"
            : "the server answered with status \(answer.status)"
        self.isForeign = isForeign
        self.message = said.map { "\($0) (status \(answer.status))" } ?? words
    }
}
