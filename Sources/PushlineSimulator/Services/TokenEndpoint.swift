import CryptoExtras
import Foundation
import NIOCore
import PushModel

/// FCM's and WNS' token endpoints.
struct TokenEndpoint: Sendable {
    private let core: SimulatorCore
    private let credentials: SimulatorCredentials
    private let serviceAccountKey: _RSA.Signing.PublicKey

    init(_ parts: ResponderParts) {
        self.core = parts.core
        self.credentials = parts.credentials
        self.serviceAccountKey = parts.keys.serviceAccountKey.publicKey
    }

    private static let fcmScopes: Set<String> = [
        "https://www.googleapis.com/auth/firebase.messaging", "https://www.googleapis.com/auth/cloud-platform",
    ]

    /// Google's: a signed assertion against an access token (RFC 7523).
    func exchangeAssertion(_ request: InboundRequest) -> Reaction {
        if let fault = self.core.tokenEndpointFault(of: .fcm) { return Self.faulty(fault) }
        guard let form = Self.form(request) else { return Self.refuse("invalid_request", "a form was expected") }
        guard form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer" else {
            return Self.refuse("unsupported_grant_type", "Invalid grant_type")
        }
        guard let token = SignedToken(form["assertion"] ?? ""), token.header["alg"] as? String == "RS256",
            token.isSigned(by: self.serviceAccountKey)
        else { return Self.refuse("invalid_grant", "Invalid JWT Signature.") }
        if let key = token.header["kid"] as? String, key != self.credentials.fcmPrivateKeyID {
            return Self.refuse("invalid_grant", "Invalid JWT Signature.")
        }
        guard token.claims["iss"] as? String == self.credentials.fcmClientEmail else {
            return Self.refuse("invalid_grant", "Invalid grant: account not found")
        }
        guard let audience = self.core.urls?.fcmToken, token.claims["aud"] as? String == audience else {
            return Self.refuse("invalid_grant", "Invalid JWT: Failed audience check.")
        }
        let now = Date.now.timeIntervalSince1970
        guard let issued = token.seconds("iat"), let expires = token.seconds("exp"), issued <= now + 60,
            expires > now, expires > issued, expires - issued <= 3600
        else {
            return Self.refuse("invalid_grant", "Invalid JWT: Token must be a short-lived token (60 minutes).")
        }
        let scopes = Set((token.claims["scope"] as? String ?? "").split(separator: " ").map(String.init))
        guard !scopes.isDisjoint(with: Self.fcmScopes) else {
            return Self.refuse("invalid_scope", "Invalid OAuth scope or ID token audience provided.")
        }
        let access = self.core.issueAccessToken(for: .fcm)
        let lifetime = self.core.accessTokens.lifetime
        return Self.json(
            200,
            "{\"access_token\":\"\(access)\",\"expires_in\":\(lifetime),\"token_type\":\"Bearer\"}"
        )
    }

    /// Microsoft's, in both generations: client id and secret against an access token.
    func exchangeSecret(_ request: InboundRequest, isStore: Bool) -> Reaction {
        if let fault = self.core.tokenEndpointFault(of: .wns) { return Self.faulty(fault) }
        guard let form = Self.form(request) else { return Self.refuse("invalid_request", "a form was expected") }
        guard form["grant_type"] == "client_credentials" else {
            return Self.refuse("unsupported_grant_type", "grant_type must be client_credentials")
        }
        let client = isStore ? self.credentials.wnsPackageSID : self.credentials.wnsClientID
        guard form["client_id"] == client, form["client_secret"] == self.credentials.wnsClientSecret else {
            return isStore
                ? Self.refuse("invalid_client", "Invalid client id or secret")
                : Self.json(401, Self.error("invalid_client", "AADSTS7000215: Invalid client secret provided."))
        }
        let scope = isStore ? SimulatorCredentials.wnsStoreScope : self.credentials.wnsScope
        guard form["scope"] == scope else { return Self.refuse("invalid_scope", "The scope is not valid") }
        let access = self.core.issueAccessToken(for: .wns)
        let lifetime = self.core.accessTokens.lifetime
        if isStore {
            return Self.json(
                200,
                "{\"access_token\":\"\(access)\",\"token_type\":\"bearer\",\"expires_in\":\(lifetime)}"
            )
        }
        let now = Int(Date.now.timeIntervalSince1970)
        return Self.json(
            200,
            """
            {"token_type":"Bearer","expires_in":"\(lifetime)","ext_expires_in":"\(lifetime)",\
            "expires_on":"\(now + lifetime)","not_before":"\(now)","access_token":"\(access)"}
            """
        )
    }

    private static func form(_ request: InboundRequest) -> [String: String]? {
        let type = (request["content-type"] ?? "").prefix { $0 != ";" }
        guard request.method == "POST", type.lowercased() == "application/x-www-form-urlencoded" else { return nil }
        return Dictionary(FormCoding.decode(request.bodyText[...]).map { ($0.name, $0.value) }) { first, _ in first }
    }

    private static func faulty(_ fault: SimulatorFault) -> Reaction {
        guard case .tokenEndpoint(let status, let error) = fault.action else { return Reaction(.close) }
        var reaction = Self.json(status, Self.error(error, "a fault on purpose"))
        if fault.latency > 0 { reaction.delay = .milliseconds(Int64(fault.latency)) }
        return reaction
    }

    private static func refuse(_ error: String, _ description: String) -> Reaction {
        Self.json(400, Self.error(error, description))
    }

    private static func error(_ error: String, _ description: String) -> String {
        JSONValue.members(["error": .string(error), "error_description": .string(description)]).compactText
    }

    private static func json(_ status: Int, _ body: String) -> Reaction {
        Reaction(.answer(.json(status, body)))
    }
}
