import Crypto
import Foundation
import HTTP2Engine
import Logging
import NIOPosix
import PushModel
import PushlineSimulator
import Testing

/// The simulated APNs as an origin for the engine, and a client for it.
struct Origin {
    let simulator: Simulator
    let client: HTTP2Client
    let headers: HTTP2HeaderBlock

    /// A batch of pushes with distinct tokens.
    func batch(
        _ count: Int,
        from first: Int = 0,
        time: Duration = .seconds(60),
        requestTimeout: Duration = .seconds(60),
        isStopped: @escaping @Sendable () -> Bool = { false }
    ) -> HTTP2Exchange {
        HTTP2Exchange(
            count: count,
            headers: self.headers,
            body: .shared(Array(#"{"aps":{"alert":"hello"}}"#.utf8)),
            interestingHeaders: ["retry-after"],
            sendBy: .now + time,
            requestTimeout: requestTimeout,
            isStopped: isStopped
        ) { index, head in
            head.appendPath("/3/device/")
            head.appendPath(Array(Origin.token(first + index).utf8)[...])
            head.addField("apns-id") { $0.append(contentsOf: Origin.id(first + index).utf8) }
        }
    }

    static func token(_ index: Int) -> String { String(format: "%064x", index) }

    static func id(_ index: Int) -> String { String(format: "00000000-0000-8000-8000-%012x", index) }

    /// Every request that came in, once a token, for "nothing is sent twice".
    func requestsByToken() -> [String: Int] {
        Dictionary(self.simulator.received(pns: .apns).map { ($0.token, 1) }, uniquingKeysWith: +)
    }

    static func with<Value>(
        _ configuration: SimulatorConfiguration = SimulatorConfiguration(),
        _ adjust: (inout HTTP2Configuration) -> Void = { _ in },
        _ body: (Origin) async throws -> Value
    ) async throws -> Value {
        try await withSimulator(configuration) { simulator in
            let origin = try Origin(simulator, adjust)
            let result: Result<Value, any Error>
            do { result = .success(try await body(origin)) } catch { result = .failure(error) }
            await origin.client.close()
            return try result.get()
        }
    }

    init(
        _ simulator: Simulator,
        _ adjust: (inout HTTP2Configuration) -> Void = { _ in },
        connectionsChanged: @escaping @Sendable (Int) -> Void = { _ in }
    ) throws {
        let url = try #require(URL(string: try simulator.urls.apns))
        let credentials = try simulator.credentials
        var configuration = HTTP2Configuration(host: "127.0.0.1", port: try #require(url.port))
        configuration.trust = .file(credentials.trustFile)
        adjust(&configuration)
        self.simulator = simulator
        self.client = try HTTP2Client(
            configuration: configuration,
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            connectionsChanged: connectionsChanged
        )
        self.headers = try HTTP2HeaderBlock(
            method: "POST",
            authority: "127.0.0.1:\(configuration.port)",
            fields: [
                HTTP2Field("authorization", "bearer \(try Origin.providerToken(credentials))"),
                HTTP2Field("apns-topic", credentials.apnsTopic),
                HTTP2Field("apns-push-type", "alert"),
                HTTP2Field("apns-priority", "10"),
            ]
        )
    }

    private static func providerToken(_ credentials: SimulatorCredentials) throws -> String {
        func encoded(_ data: Data) -> String {
            data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        }
        let header = #"{"alg":"ES256","kid":"\#(credentials.apnsKeyID)"}"#
        let claims = #"{"iss":"\#(credentials.apnsTeamID)","iat":\#(Int(Date.now.timeIntervalSince1970))}"#
        let text = encoded(Data(header.utf8)) + "." + encoded(Data(claims.utf8))
        let key = try P256.Signing.PrivateKey(pemRepresentation: credentials.apnsKeyPEM)
        return text + "." + encoded(try key.signature(for: Data(text.utf8)).rawRepresentation)
    }
}

extension [HTTP2Outcome] {
    var answered: Int { self.count { if case .response = $0 { true } else { false } } }
    var accepted: Int { self.count { $0 == .response(HTTP2Response(status: 200)) } }
    var unanswered: Int { self.count { if case .unanswered = $0 { true } else { false } } }
    var notProcessed: Int { self.count { if case .notProcessed = $0 { true } else { false } } }
}
