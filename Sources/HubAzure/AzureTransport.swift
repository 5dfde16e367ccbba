import HubWire
import NIOCore
import NIOHTTP1
import NIOSSL
import OutgoingHTTP
import PushModel
import ServiceLifecycle

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A call of the wire.
struct AzureRequest: Sendable {
    let method: HTTPMethod
    /// The parts of the path behind the hub's name, as they are written.
    let path: [String]
    /// As they are written; nil = a flag.
    var query: [(name: String, value: String?)] = []
    var headers: [(name: String, value: String)] = []
    var body: [UInt8] = []
    var trackingID: String?
    /// More than this of an answer is not read.
    var longestAnswer = 512 << 10

    init(_ method: HTTPMethod, _ path: String...) {
        self.method = method
        self.path = path
    }
}

/// The answer to a call.
struct AzureAnswer: Sendable {
    enum Body: Sendable {
        case whole([UInt8])
        /// Why it is not there.
        case none(String)
    }

    let status: Int
    let headers: HTTPHeaders
    let body: Body
    /// The id under which the hub knows the request.
    let trackingID: String
}

/// Sends calls to one hub: with tokens, deadlines and bounds.
final class AzureTransport: Sendable {
    /// Of the wire.
    private static let version = "2020-06"

    private let base: String
    private let client: OutgoingClient
    private let peer: Peer
    private let configuration: AzureHubConfiguration
    private let tls: TLSConfiguration?
    private let tokens: AzureTokens
    private let key: String
    let now: @Sendable () -> Timestamp

    init(
        _ connection: ConnectionString,
        name: String,
        client: OutgoingClient,
        peer: Peer,
        _ configuration: AzureHubConfiguration,
        now: @escaping @Sendable () -> Timestamp
    ) {
        // A hub's name may have slashes within.
        let path = name.split(separator: "/").map { PercentCoding.encode(String($0)) }.joined(separator: "/")
        self.base = connection.endpoint + path
        self.client = client
        self.peer = peer
        self.configuration = configuration
        self.tls = configuration.trustFile.map { TLSConfiguration.outgoing(trustFile: $0) }
        self.tokens = AzureTokens(connection, audience: self.base, lifetime: configuration.tokenLifetime, now: now)
        self.key = connection.key
        self.now = now
    }

    /// Makes a call.
    ///
    /// - Parameters:
    ///   - request: The call.
    ///   - expected: Statuses that are not errors, besides those of success.
    /// - Returns: The answer.
    /// - Throws: ``AzureHubError``.
    func call(_ request: AzureRequest, expecting expected: Set<Int> = []) async throws(AzureHubError) -> AzureAnswer {
        // Of a registration that takes several calls, or a list of them, no further one is begun.
        guard !Task.isShuttingDownGracefully else {
            throw AzureHubError(.retryLater, "the hub is not called: the process is about to end")
        }
        let deadline = ContinuousClock.now + self.configuration.requestTimeout
        let trackingID = request.trackingID ?? UUID().uuidString.lowercased()
        let token = self.tokens.token()
        var answer = try await self.exchange(request, trackingID, token, deadline)
        if answer.status == 401 {
            let date = answer.headers.first(name: "Date").flatMap { RetryAfter.date($0) }
            if let fresh = self.tokens.token(replacing: token, date: date) {
                answer = try await self.exchange(request, trackingID, fresh, deadline)
            }
        }
        guard (200..<300).contains(answer.status) || expected.contains(answer.status) else {
            throw AzureHubError(answer, at: self.now(), hiding: self.key)
        }
        return answer
    }

    private func exchange(
        _ request: AzureRequest,
        _ trackingID: String,
        _ token: String,
        _ deadline: ContinuousClock.Instant
    ) async throws(AzureHubError) -> AzureAnswer {
        let outgoing = try self.outgoing(request, trackingID, token)
        let answer: OutgoingAnswer
        do throws(NoAnswer) {
            answer = try await self.client.exchange(outgoing, by: deadline, with: self.peer)
        } catch {
            // The fault never names the request.
            throw error.isBeforeSending
                ? AzureHubError(.retryLater, "no connection to the hub: \(error)", trackingID: trackingID)
                : AzureHubError(.unanswered, "the hub gave no answer: \(error)", trackingID: trackingID)
        }
        let body: AzureAnswer.Body =
            switch answer.body {
            case .whole(let bytes): .whole(Array(buffer: bytes))
            case .tooLong: .none("is longer than \(request.longestAnswer) bytes")
            case .cut(let reason): .none(reason)
            }
        return AzureAnswer(
            status: answer.status,
            headers: answer.headers,
            body: body,
            trackingID: answer.headers.first(name: WireNames.trackingID).flatMap(Self.identifier) ?? trackingID
        )
    }

    private func outgoing(
        _ request: AzureRequest,
        _ trackingID: String,
        _ token: String
    ) throws(AzureHubError) -> OutgoingRequest {
        let query = request.query + [("api-version", Self.version)]
        let written = query.map { name, value in value.map { "\(name)=\($0)" } ?? name }.joined(separator: "&")
        var outgoing = OutgoingRequest(
            request.method,
            "\(self.base)/\(request.path.joined(separator: "/"))?\(written)",
            longestAnswer: request.longestAnswer
        )
        outgoing.tls = self.tls
        outgoing.headers.add(name: "Authorization", value: token)
        outgoing.headers.add(name: WireNames.trackingID, value: trackingID)
        outgoing.headers.add(name: "User-Agent", value: "pushline/\(pushlineVersion)")
        for (name, value) in request.headers {
            // A line break would begin another header; the words do not show the value, which may be a handle.
            guard name.utf8.allSatisfy(Self.isNameByte), !name.isEmpty, !value.utf8.contains(where: Self.isControl)
            else {
                throw AzureHubError(
                    .refused,
                    "the header \(ForeignText.word(name)) has a character that is not allowed"
                )
            }
            outgoing.headers.add(name: name, value: value)
        }
        if !request.body.isEmpty { outgoing.body = ByteBuffer(bytes: request.body) }
        return outgoing
    }

    private static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 && byte != 0x09 || byte == 0x7F }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// An id of the hub; nil for what is none.
    static func identifier(_ text: String) -> String? {
        (1...200).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? text : nil
    }
}

extension AzureAnswer {
    /// Reads the body of an answer that has one.
    ///
    /// - Throws: ``AzureHubError/Kind/unanswered``: the hub did it, and did not say what it did.
    func read<Value>(_ parse: ([UInt8]) throws(InvalidValue) -> Value) throws(AzureHubError) -> Value {
        let reason: String
        switch self.body {
        case .none(let fault): reason = "it \(fault)"
        case .whole(let bytes):
            do { return try parse(bytes) } catch { reason = AzureHubError.safe(error.description) }
        }
        throw AzureHubError(
            .unanswered,
            "the hub's answer cannot be read: \(reason)",
            status: self.status,
            trackingID: self.trackingID
        )
    }
}
