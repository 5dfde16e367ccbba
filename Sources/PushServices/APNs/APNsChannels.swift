import AsyncHTTPClient
package import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import OutgoingHTTP
package import PushModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The broadcast channels of an app's bundle id at Apple, which Live Activities listen to.
///
/// Apple's rules: "Sending channel management requests to APNs". Each call is made once, and again only where its token was refused: a
/// repeated creation could make a second channel.
package final class APNsChannels: Sendable {
    /// Why a call did not succeed, in words for the caller.
    package struct Fault: Error, Sendable, Equatable, CustomStringConvertible {
        /// What its caller may do about it.
        package enum Kind: Sendable, Equatable {
            /// The call can be repeated, after the wait that Apple asks for.
            case unavailable(after: Duration?)
            /// Nothing was done, nor will it be.
            case refused
            /// The bundle id has no such channel.
            case notFound
            /// A channel may have been made: another call could make a second one.
            case unknown
        }

        package let kind: Kind
        package let description: String
    }

    /// What to do after a creation whose answer is lost.
    package static let mayBeMade =
        "the channel may have been made: look for it in the list of channels before you make another"

    /// The members of all answers' bodies.
    private struct Body: Decodable {
        let channels: [String]?
        let storage: Int?
        let reason: String?

        private enum CodingKeys: String, CodingKey {
            case channels, reason
            case storage = "message-storage-policy"
        }
    }

    /// How long a call may take, with all of its answer.
    package static let longestCall = Duration.seconds(20)
    /// Ten times the size of a list of 10,000 ids of today's length.
    private static let maximumAnswer = 4 << 20

    /// All files that the credentials were read from.
    let files: [CredentialFile]
    private let client: OutgoingClient
    private let peer: Peer
    private let timeout: Duration
    /// nil = the client shows a certificate instead.
    let token: APNsProviderToken?
    private let host: String
    /// The URL up to and with the bundle id.
    private let address: String

    /// Reads the credentials; opens no connection.
    ///
    /// - Parameters:
    ///   - app: The app's declaration.
    ///   - timeout: How long a call may take.
    ///   - logger: For calls that stop.
    /// - Throws: ``SenderError`` that names the wrong file or setting.
    package init(
        _ app: AppSpec.APNs,
        timeout: Duration = APNsChannels.longestCall,
        logger: Logger
    ) throws(SenderError) {
        let parts = SenderParts(
            settings: SenderSettings(),
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: logger
        )
        self.peer = parts.peer(.channels)
        let trust = try parts.trust(app.trustFile, setting: "apns.trust_file")
        var configuration = HTTPClient.Configuration.outgoing(trustFile: trust?.path)
        // Apple speaks HTTP/2 alone.
        configuration.httpVersion = .automatic
        self.timeout = timeout
        let files: [CredentialFile]
        switch app.authentication {
        case .token(let declared):
            let (file, pem) = try CredentialFile.read(declared.keyFile, setting: "apns.key_file")
            files = [file]
            self.token = try APNsProviderToken(pem: pem, keyID: declared.keyID, teamID: declared.teamID)
        case .certificate(let declared):
            let certificate = try ProviderCertificate(declared)
            try certificate.checkEnd()
            var tls = configuration.tlsConfiguration ?? .outgoing(trustFile: app.trustFile)
            certificate.show(in: &tls)
            configuration.tlsConfiguration = tls
            self.token = nil
            files = certificate.files
        }
        self.files = files + [trust].compactMap { $0 }
        let endpoint = try Self.endpoint(of: app)
        self.host = endpoint.host
        self.address = "https://\(endpoint.authority)/1/apps/\(app.topic)/"
        let group = parts.eventLoopGroup
        self.client = OutgoingClient(renewsWhenStopped: true) { [configuration] in
            HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
        }
    }

    /// Apple has separate hosts for channels; a simulator's is declared, or is the endpoint of its pushes.
    static func endpoint(of app: AppSpec.APNs) throws(SenderError) -> Endpoint {
        if let own = app.channelsEndpoint { return try Endpoint(own, setting: "apns.channels_endpoint") }
        let endpoint = try Endpoint(app.endpoint, setting: "apns.endpoint")
        return switch endpoint.host.lowercased() {
        case "api.push.apple.com": try Self.apple("api-manage-broadcast.push.apple.com:2196")
        case "api.sandbox.push.apple.com", "api.development.push.apple.com":
            try Self.apple("api-manage-broadcast.sandbox.push.apple.com:2195")
        default: endpoint
        }
    }

    private static func apple(_ authority: String) throws(SenderError) -> Endpoint {
        try Endpoint("https://\(authority)", setting: "apns.endpoint")
    }

    /// Closes its connections; it cannot be used afterwards.
    package func close() async { await self.client.close() }

    /// Makes a channel.
    ///
    /// - Parameter storage: What it keeps.
    /// - Returns: Its id.
    /// - Throws: ``Fault``.
    package func create(_ storage: BroadcastChannel.Storage) async throws(Fault) -> APNsChannelID {
        let body = JSONValue.members([
            "message-storage-policy": .integer(Self.policies.firstIndex(of: storage) ?? 0),
            "push-type": .string("LiveActivity"),
        ])
        let answer = try await self.call(.POST, "channels", body: body, expecting: .created)
        guard let id = answer.headers.first(name: "apns-channel-id").flatMap({ try? APNsChannelID($0) }) else {
            throw Fault(
                kind: .unknown,
                description: "\(self.host) made a channel and did not say its id: look for it in the list of channels"
            )
        }
        return id
    }

    /// All channels of the bundle id, in Apple's order.
    package func all() async throws(Fault) -> [APNsChannelID] {
        let answer = try await self.call(.GET, "all-channels", expecting: .ok)
        let ids = answer.body?.channels.flatMap { texts in try? texts.map { try APNsChannelID($0) } }
        guard let ids else { throw self.unreadable() }
        return ids
    }

    /// What a channel keeps.
    package func storage(of channel: APNsChannelID) async throws(Fault) -> BroadcastChannel.Storage {
        let answer = try await self.call(.GET, "channels", channel: channel, expecting: .ok)
        guard let policy = answer.body?.storage, Self.policies.indices.contains(policy) else {
            throw self.unreadable()
        }
        return Self.policies[policy]
    }

    /// By Apple's numbers for them.
    private static let policies: [BroadcastChannel.Storage] = [.nothing, .latest]

    /// Removes a channel for good: its id is never given again.
    package func delete(_ channel: APNsChannelID) async throws(Fault) {
        _ = try await self.call(.DELETE, "channels", channel: channel, expecting: .noContent)
    }

    private func unreadable() -> Fault {
        Fault(kind: .refused, description: "\(self.host) gave an answer that Apple does not document")
    }

    private func call(
        _ method: HTTPMethod,
        _ path: String,
        channel: APNsChannelID? = nil,
        body: JSONValue? = nil,
        expecting status: HTTPResponseStatus
    ) async throws(Fault) -> (headers: HTTPHeaders, body: Body?) {
        var request = OutgoingRequest(method, self.address + path, longestAnswer: Self.maximumAnswer)
        let token: APNsProviderToken.Token?
        do { token = try self.token?.token() } catch {
            throw Fault(kind: .refused, description: "the provider token cannot be signed")
        }
        if let token { request.headers.add(name: "authorization", value: "bearer \(token.text)") }
        if let channel { request.headers.add(name: "apns-channel-id", value: channel.text) }
        if let body {
            request.headers.add(name: "content-type", value: "application/json")
            request.body = ByteBuffer(bytes: body.bytes)
        }
        let answer: OutgoingAnswer
        do throws(NoAnswer) {
            answer = try await self.client.exchange(request, by: .now + self.timeout, with: self.peer)
        } catch {
            throw self.unanswered("\(error)", isLost: method == .POST && !error.isBeforeSending)
        }
        // What became of a creation or deletion is known by the head; the other calls are repeated.
        let isKnown = method == .POST || answer.status == 204
        let bytes: ByteBuffer
        switch answer.body {
        case .whole(let body): bytes = body
        case .cut where isKnown: bytes = ByteBuffer()
        case .tooLong where isKnown: bytes = ByteBuffer()
        case .cut(let reason): throw self.unanswered("the answer's body \(reason)", isLost: false)
        case .tooLong: throw self.unanswered("the answer is too long", isLost: false)
        }
        // Some answers have no body.
        let read = try? JSONDecoder().decode(Body.self, from: Data(bytes.readableBytesView))
        guard answer.status != Int(status.code) else { return (answer.headers, read) }
        // It has done nothing. A token that is replaced is refused at most once.
        if let token, APNsAnswers.wantsToken(status: answer.status, reason: read?.reason),
            (try? self.token?.token(replacing: token)) != nil
        {
            return try await self.call(method, path, channel: channel, body: body, expecting: status)
        }
        throw self.refusal(answer, read?.reason, of: method)
    }

    private func unanswered(_ reason: String, isLost: Bool) -> Fault {
        Fault(
            kind: isLost ? .unknown : .unavailable(after: nil),
            description: "\(self.host): \(reason)\(isLost ? "; \(Self.mayBeMade)" : "")"
        )
    }

    private func refusal(_ answer: OutgoingAnswer, _ word: String?, of method: HTTPMethod) -> Fault {
        let reason = word.map(ForeignText.word) ?? "without a reason"
        let request = answer.headers.first(name: "apns-request-id").map { "; request \(ForeignText.word($0))" } ?? ""
        let kind = Self.kind(of: answer, reason, method)
        let advice = kind == .unknown ? "; \(Self.mayBeMade)" : APNsAnswers.advice(on: reason).map { ": \($0)" } ?? ""
        return Fault(
            kind: kind,
            description: "\(self.host) answered \(answer.status) \(reason)\(advice)\(request)"
        )
    }

    private static func kind(of answer: OutgoingAnswer, _ reason: String, _ method: HTTPMethod) -> Fault.Kind {
        let wait = RetryAfter.wait { answer.headers.first(name: $0) }
        return switch answer.status {
        case 429, 503: .unavailable(after: wait)
        case 200..<300 where method == .POST: .unknown
        case 500...: method == .POST ? .unknown : .unavailable(after: wait)
        case 400 where ["ChannelNotRegistered", "BadChannelId"].contains(reason): .notFound
        default: .refused
        }
    }
}
