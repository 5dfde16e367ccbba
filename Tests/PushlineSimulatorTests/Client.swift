import AsyncHTTPClient
import Foundation
import JWTKit
import NIOCore
import NIOHTTP1
import NIOSSL

@testable import PushlineSimulator

/// Sends to a simulator as an app's sender would, through async-http-client.
struct Client: Sendable {
    var http: HTTPClient
    var simulator: Simulator

    /// What came back, read whole.
    struct Reply: Sendable {
        var status: Int
        var headers: [String: String]
        var body: String
        var isHTTP2: Bool

        /// The APNs reason.
        var reason: String? {
            self.json["reason"] as? String
        }

        var json: [String: Any] {
            (try? JSONSerialization.jsonObject(with: Data(self.body.utf8))) as? [String: Any] ?? [:]
        }
    }

    static let deviceToken = String(repeating: "ab", count: 32)

    func send(
        _ method: String = "POST",
        _ url: String,
        headers: [(String, String)] = [],
        body: String? = nil,
        chunked: Bool = false,
        timeout: TimeAmount = .seconds(10)
    ) async throws -> Reply {
        var request = HTTPClientRequest(url: url)
        request.method = .init(rawValue: method)
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let body {
            let bytes = ByteBuffer(string: body)
            request.body = chunked ? .stream([bytes].async, length: .unknown) : .bytes(bytes)
        }
        let response = try await self.http.execute(request, timeout: timeout)
        let bytes = try await response.body.collect(upTo: 1 << 24)
        return Reply(
            status: Int(response.status.code),
            headers: Dictionary(response.headers.map { ($0.name.lowercased(), $0.value) }) { first, _ in first },
            body: String(buffer: bytes),
            isHTTP2: response.version == .http2
        )
    }

    /// The provider token's claims.
    struct ProviderClaims: JWTPayload {
        var iss: String
        var iat: Int

        func verify(using algorithm: some JWTAlgorithm) async throws {}
    }

    /// A provider token made from the `.p8` file.
    func providerToken(issuer: String? = nil, keyID: String? = nil, issued: Date = .now) async throws -> String {
        let credentials = try self.simulator.credentials
        let pem = try String(contentsOfFile: credentials.apnsKeyFile, encoding: .utf8)
        let keys = await JWTKeyCollection().add(ecdsa: try ES256PrivateKey(pem: pem))
        let claims = ProviderClaims(
            iss: issuer ?? credentials.apnsTeamID,
            iat: Int(issued.timeIntervalSince1970)
        )
        return try await keys.sign(claims, header: ["kid": .string(keyID ?? credentials.apnsKeyID)])
    }

    func push(
        token: String = Client.deviceToken,
        headers: [String: String?] = [:],
        extra: [(String, String)] = [],
        authorization: String,
        body: String = #"{"aps":{"alert":"hello"}}"#
    ) async throws -> Reply {
        var all: [String: String?] = [
            "authorization": "bearer " + authorization,
            "apns-topic": try self.simulator.credentials.apnsTopic,
            "apns-push-type": "alert",
        ]
        all.merge(headers) { _, new in new }
        return try await self.send(
            "POST",
            try self.simulator.urls.apns + "/3/device/" + token,
            headers: all.compactMap { name, value in value.map { (name, $0) } } + extra,
            body: body
        )
    }

    /// The assertion's claims.
    struct AssertionClaims: JWTPayload {
        var iss: String
        var scope: String
        var aud: String
        var iat: Int
        var exp: Int

        func verify(using algorithm: some JWTAlgorithm) async throws {}
    }

    /// The part of a service account's file that a sender reads.
    struct ServiceAccount: Decodable {
        var project_id: String
        var private_key_id: String
        var private_key: String
        var client_email: String
        var token_uri: String
    }

    func serviceAccount() throws -> ServiceAccount {
        let file = try self.simulator.credentials.fcmServiceAccountFile
        return try JSONDecoder().decode(ServiceAccount.self, from: Data(contentsOf: URL(fileURLWithPath: file)))
    }

    func assertion(_ change: (inout AssertionClaims) -> Void = { _ in }) async throws -> String {
        let account = try self.serviceAccount()
        let now = Int(Date.now.timeIntervalSince1970)
        var claims = AssertionClaims(
            iss: account.client_email,
            scope: "https://www.googleapis.com/auth/firebase.messaging",
            aud: account.token_uri,
            iat: now,
            exp: now + 3600
        )
        change(&claims)
        let keys = await JWTKeyCollection().add(
            rsa: try Insecure.RSA.PrivateKey(pem: account.private_key),
            digestAlgorithm: .sha256
        )
        return try await keys.sign(claims, header: ["kid": .string(account.private_key_id)])
    }

    func form(_ url: String, _ members: [(String, String)]) async throws -> Reply {
        let allowed = CharacterSet.alphanumerics
        let body = members.map { name, value in
            name + "=" + (value.addingPercentEncoding(withAllowedCharacters: allowed) ?? "")
        }
        return try await self.send(
            "POST",
            url,
            headers: [("content-type", "application/x-www-form-urlencoded")],
            body: body.joined(separator: "&")
        )
    }

    func exchange(assertion: String) async throws -> Reply {
        try await self.form(
            try self.serviceAccount().token_uri,
            [("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("assertion", assertion)]
        )
    }

    func fcmToken() async throws -> String {
        try await self.exchange(assertion: try await self.assertion()).json["access_token"] as? String ?? ""
    }

    func message(
        _ body: String,
        authorization: String,
        project: String? = nil,
        type: String = "application/json"
    ) async throws -> Reply {
        let project = try project ?? self.serviceAccount().project_id
        return try await self.send(
            "POST",
            try self.simulator.urls.fcm + "/v1/projects/\(project)/messages:send",
            headers: [("authorization", "Bearer " + authorization), ("content-type", type)],
            body: body
        )
    }

    func wnsToken(secret: String? = nil, isStore: Bool = false, scope: String? = nil) async throws -> Reply {
        let credentials = try self.simulator.credentials
        let urls = try self.simulator.urls
        return try await self.form(
            isStore ? urls.wnsStoreToken : urls.wnsToken,
            [
                ("grant_type", "client_credentials"),
                ("client_id", isStore ? credentials.wnsPackageSID : credentials.wnsClientID),
                (
                    "client_secret",
                    try secret ?? String(contentsOfFile: credentials.wnsClientSecretFile, encoding: .utf8)
                ),
                ("scope", scope ?? (isStore ? "notify.windows.com" : credentials.wnsScope)),
            ]
        )
    }

    func toast(
        channel: String = "channel-1",
        headers: [String: String?] = [:],
        authorization: String,
        body: String = "<toast><visual/></toast>",
        chunked: Bool = false
    ) async throws -> Reply {
        var all: [String: String?] = [
            "Authorization": "Bearer " + authorization, "X-WNS-Type": "wns/toast", "Content-Type": "text/xml",
        ]
        all.merge(headers) { _, new in new }
        return try await self.send(
            "POST",
            try self.simulator.urls.wnsChannel + channel,
            headers: all.compactMap { name, value in value.map { (name, $0) } },
            body: body,
            chunked: chunked
        )
    }
}

extension [ByteBuffer] {
    /// The elements one by one, for a body of unknown length.
    var async: AsyncStream<ByteBuffer> {
        AsyncStream { continuation in
            for element in self { continuation.yield(element) }
            continuation.finish()
        }
    }
}

/// Runs a body with a simulator and a client that trusts its authority, and shows a certificate where one is given.
func withClient(
    _ configuration: SimulatorConfiguration = SimulatorConfiguration(),
    version: HTTPClient.Configuration.HTTPVersion = .automatic,
    certificate: APNsCertificate? = nil,
    _ body: (Client) async throws -> Void
) async throws {
    try await withSimulator(configuration) { simulator in
        let pem = try String(contentsOfFile: simulator.credentials.trustFile, encoding: .utf8)
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(pem.utf8)))
        if let certificate {
            let (chain, key) = try simulator.credentials.issue(certificate)
            tls.certificateChain = try NIOSSLCertificate.fromPEMBytes(Array(chain.utf8)).map { .certificate($0) }
            tls.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem))
        }
        var options = HTTPClient.Configuration(tlsConfiguration: tls)
        options.httpVersion = version
        let http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: options)
        do {
            try await body(Client(http: http, simulator: simulator))
        } catch {
            try? await http.shutdown()
            throw error
        }
        try await http.shutdown()
    }
}
