import NIOCore
import NIOFoundationCompat
import NIOHTTP1
import OutgoingHTTP
import PushModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// An OAuth 2 token service: a form is posted, JSON comes back (RFC 6749, sections 4.4, 5.1 and 5.2).
struct TokenEndpoint: Sendable {
    /// More than any token service answers.
    private static let maximumAnswer = 64 * 1024
    /// A lifetime beyond this is not believed.
    private static let longestLifetime: Int64 = 30 * 24 * 3600

    let url: String
    let client: OutgoingClient
    let peer: Peer

    private struct Grant: Decodable {
        let accessToken: String
        let lifetime: Int64?

        private enum CodingKeys: String, CodingKey {
            case accessToken = "access_token"
            case lifetime = "expires_in"
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            self.accessToken = try container.decode(String.self, forKey: .accessToken)
            // A number, or (Entra ID) a string.
            if let text = try? container.decode(String.self, forKey: .lifetime) {
                self.lifetime = Int64(text)
            } else {
                self.lifetime = (try? container.decode(Double.self, forKey: .lifetime)).flatMap {
                    Int64(exactly: $0.rounded(.down))
                }
            }
        }
    }

    private struct Rejection: Decodable {
        let error: String?
    }

    /// Asks for a token.
    func token(form: [(String, String)], deadline: ContinuousClock.Instant) async throws(TokenFault) -> AccessToken {
        let text = form.map { "\(PercentCoding.encode($0.0))=\(PercentCoding.encode($0.1))" }.joined(separator: "&")
        let request = OutgoingRequest(
            .POST,
            self.url,
            headers: ["Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"],
            body: ByteBuffer(string: text),
            longestAnswer: TokenEndpoint.maximumAnswer
        )
        let answer: OutgoingAnswer
        do throws(NoAnswer) {
            answer = try await self.client.exchange(request, by: deadline, with: self.peer)
        } catch {
            // The fault never names the request.
            throw .later(after: nil, reason: "\(EndpointRefusal.prefix)\(error)", status: nil)
        }
        let body: ByteBuffer
        switch answer.body {
        case .whole(let bytes): body = bytes
        // Without the word in it a refusal is not known from a trouble that passes.
        case .cut(let reason):
            throw .later(after: nil, reason: "\(EndpointRefusal.prefix)its answer \(reason)", status: nil)
        case .tooLong: throw .later(after: nil, reason: "\(EndpointRefusal.prefix)its answer is too long", status: nil)
        }
        let retryAfter = RetryAfter.wait { answer.headers.first(name: $0) }
        return try TokenEndpoint.read(status: answer.status, body: Data(buffer: body), retryAfter: retryAfter)
    }

    /// Reads the token service's answer.
    static func read(status: Int, body: Data, retryAfter: Duration?) throws(TokenFault) -> AccessToken {
        if status == 200 {
            guard let grant = try? JSONDecoder().decode(Grant.self, from: body), !grant.accessToken.isEmpty,
                grant.accessToken.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else {
                throw .later(after: nil, reason: "\(EndpointRefusal.prefix)its answer holds no token", status: status)
            }
            // An hour is usual for an answer without a lifetime; half of that is safe.
            let lifetime = min(max(1, grant.lifetime ?? 1800), TokenEndpoint.longestLifetime)
            return AccessToken(text: grant.accessToken, lifetime: .seconds(lifetime))
        }
        let word = (try? JSONDecoder().decode(Rejection.self, from: body))?.error.map(ForeignText.word)
        let reason = "\(EndpointRefusal.prefix)\(word ?? "status \(status)")"
        if status == 429 || status >= 500 || word == "temporarily_unavailable" {
            throw .later(after: retryAfter, reason: reason, status: status)
        }
        // invalid_grant may also mean that this host's clock is wrong; either way a person must look.
        throw .misconfigured(reason: reason, status: status)
    }
}
