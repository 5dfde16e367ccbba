import JWTKit
import PushModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A Google service account: the identity that requests access tokens, and its project.
struct ServiceAccount: Sendable {
    let projectID: String
    let tokenURL: String
    private let email: String
    private let keyID: String?
    private let key: Insecure.RSA.PrivateKey

    private static let scope = "https://www.googleapis.com/auth/firebase.messaging"

    private struct File: Decodable {
        let project_id: String
        let client_email: String
        let private_key: String
        let private_key_id: String?
        let token_uri: String
    }

    /// Reads the JSON file that Google hands out.
    ///
    /// - Throws: ``SenderError`` that names the member at fault, without its content.
    init(json: [UInt8]) throws(SenderError) {
        let setting = "fcm.service_account_file"
        let file: File
        do {
            file = try JSONDecoder().decode(File.self, from: Data(json))
        } catch DecodingError.keyNotFound(let key, _) {
            throw SenderError(
                .invalid,
                "\(setting): the member \(key.stringValue) is missing; name the service account's JSON file"
            )
        } catch {
            throw SenderError(.invalid, "\(setting): not a service account's JSON file")
        }
        let isPlain = file.project_id.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".") || byte == UInt8(ascii: ":")
        }
        guard isPlain, !file.project_id.isEmpty else {
            throw SenderError(.invalid, "\(setting): project_id is not a project's id")
        }
        guard file.token_uri.hasPrefix("https://") else {
            throw SenderError(.invalid, "\(setting): token_uri is not an https address")
        }
        do {
            self.key = try Insecure.RSA.PrivateKey(pem: file.private_key)
        } catch {
            throw SenderError(.invalid, "\(setting): private_key is not an RSA private key in PEM of 2048 bits or more")
        }
        self.projectID = file.project_id
        self.tokenURL = file.token_uri
        self.email = file.client_email
        self.keyID = file.private_key_id
    }

    private struct Claims: JWTPayload {
        let iss: String
        let scope: String
        let aud: String
        let iat: Int64
        let exp: Int64

        func verify(using algorithm: some JWTAlgorithm) throws {}
    }

    /// The form that is traded for an access token (RFC 7523).
    func form(now: Timestamp = .now) async throws(TokenFault) -> [(String, String)] {
        let claims = Claims(
            iss: self.email,
            scope: ServiceAccount.scope,
            aud: self.tokenURL,
            iat: now.seconds,
            exp: now.seconds + 3600
        )
        let keys = JWTKeyCollection()
        let keyID = self.keyID.map { JWKIdentifier(string: $0) }
        await keys.add(rsa: self.key, digestAlgorithm: .sha256, kid: keyID)
        do {
            let assertion = try await keys.sign(claims, kid: keyID)
            return [("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("assertion", assertion)]
        } catch {
            throw .misconfigured(reason: "the service account's key cannot sign", status: nil)
        }
    }
}
