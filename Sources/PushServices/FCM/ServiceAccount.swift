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
    private let signer: TokenSigner

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
            self.signer = try TokenSigner.rs256(pem: file.private_key)
        } catch {
            throw SenderError(.invalid, "\(setting): private_key is not an RSA private key in PEM of 2048 bits or more")
        }
        self.projectID = file.project_id
        self.tokenURL = file.token_uri
        self.email = file.client_email
        self.keyID = file.private_key_id
    }

    /// The form that is traded for an access token (RFC 7523).
    func form(now: Timestamp = .now) throws(TokenFault) -> [(String, String)] {
        let claims = JSONValue.members([
            "iss": .string(self.email),
            "scope": .string(ServiceAccount.scope),
            "aud": .string(self.tokenURL),
            "iat": .integer(Int(now.seconds)),
            "exp": .integer(Int(now.seconds + 3600)),
        ])
        do {
            let assertion = try self.signer.token(keyID: self.keyID, claims: claims)
            return [("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("assertion", assertion)]
        } catch {
            throw .misconfigured(reason: "the service account's key cannot sign", status: nil)
        }
    }
}
