import Foundation
import PushModel
import RawHTTP
import Testing
import TokenIssuer
import Undisturbed

@testable import JSONWebTokens
@testable import PushlineSimulator

/// A server that answers each path with the bytes that a test gives it, and others never.
private struct KeyServer {
    let port: Int
    /// The authority of its certificate.
    let trustFile: String

    static func run(
        _ answers: [String: String],
        isExpired: Bool = false,
        _ body: (KeyServer) async throws -> Void
    ) async throws {
        let material = try KeyMaterial.load(folder: nil)
        let trustFile = FileManager.default.temporaryDirectory.appending(path: "authority-\(UUID().uuidString).pem")
        try Data(material.authorityPEM.utf8).write(to: trustFile)
        defer { try? FileManager.default.removeItem(at: trustFile) }
        let tls = try material.serverContext(protocols: ["http/1.1"], takesCertificates: false, isExpired: isExpired)
        try await RawServer.run(
            .tls(tls),
            react: { request in answers[request.target].map { .bytes(Array($0.utf8)) } ?? .silence },
            { try await body(KeyServer(port: $0.port, trustFile: trustFile.path)) }
        )
    }

    func read(_ path: String, timeout: Duration = .seconds(20), trusting: Bool = true) async throws(KeySetFault)
        -> [UInt8]
    {
        let place = TokenSettings.KeySetPlace.address(
            url: "https://127.0.0.1:\(self.port)\(path)",
            trustFile: trusting ? self.trustFile : nil
        )
        return try await KeySource(place, timeout: timeout, logger: .quiet).read()
    }
}

@Suite(.undisturbed) struct KeySourceTests {
    private static func answer(_ status: String, _ body: String, _ headers: String = "") -> String {
        "HTTP/1.1 \(status)\r\ncontent-length: \(body.utf8.count)\r\n\(headers)\r\n\(body)"
    }

    private static let answers = [
        "/keys": answer("200 OK", "{}"),
        "/moved": answer("302 Found", "", "location: /keys\r\n"),
        "/broken": answer("500 Internal Server Error", "{}"),
        "/missing": answer("404 Not Found", "{}"),
        "/gone": answer("410 Gone", "{}"),
        "/large": answer("200 OK", String(repeating: " ", count: KeySource.maximumSize + 1)),
        "/endless": "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n100000\r\n"
            + String(repeating: " ", count: 0x100000) + "\r\n",
        "/stuck": "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{",
        "/garbage": "220 mail.example.com ESMTP ready\r\n",
    ]

    @Test func aDocumentIsFetched() async throws {
        try await KeyServer.run(Self.answers) { server in
            let document = try await server.read("/keys")
            #expect(document == Array("{}".utf8))
        }
    }

    @Test(arguments: [
        // A redirect would let another decide who is let in.
        ("/moved", "answers 302 instead of 200"), ("/broken", "answers 500 instead of 200"),
        ("/missing", "answers 404 instead of 200"), ("/gone", "answers 410 instead of 200"),
        ("/large", "is larger than 256 KiB"), ("/endless", "is larger than 256 KiB"),
        ("/garbage", "cannot be fetched: "),
    ])
    func otherAnswersAreFaults(path: String, reason: String) async throws {
        try await KeyServer.run(Self.answers) { server in
            let fault = await #expect(throws: KeySetFault.self) { try await server.read(path) }
            #expect(fault?.reason.hasPrefix(reason) == true, "\(String(describing: fault))")
            #expect(fault?.isGone == ["/missing", "/gone"].contains(path))
        }
    }

    @Test(arguments: ["/silent", "/stuck"])
    func aFetchHasADeadline(path: String) async throws {
        try await KeyServer.run(Self.answers) { server in
            let start = ContinuousClock.now
            let fault = await #expect(throws: KeySetFault.self) {
                try await server.read(path, timeout: .milliseconds(300))
            }
            #expect(fault?.reason.hasPrefix("gave no complete answer") == true)
            #expect(ContinuousClock.now - start < .seconds(10))
        }
    }

    /// Whoever signs in meanwhile waits for it.
    @Test func aFetchMayTakeFiveSecondsUnlessSaidOtherwise() {
        let place = TokenSettings.KeySetPlace.address(url: "https://127.0.0.1:1/", trustFile: nil)
        #expect(KeySource(place, logger: .quiet).timeout == .seconds(5))
    }

    @Test func theServerMustBeTrusted() async throws {
        try await KeyServer.run(Self.answers) { server in
            await #expect(throws: KeySetFault.self) { try await server.read("/keys", trusting: false) }
        }
        try await KeyServer.run(Self.answers, isExpired: true) { server in
            await #expect(throws: KeySetFault.self) { try await server.read("/keys") }
        }
        let nowhere = TokenSettings.KeySetPlace.address(url: "https://127.0.0.1:1/", trustFile: nil)
        await #expect(throws: KeySetFault.self) { try await KeySource(nowhere, logger: .quiet).read() }
        let noAuthority = TokenSettings.KeySetPlace.address(url: "https://127.0.0.1:1/", trustFile: "/nowhere")
        await #expect(throws: KeySetFault.self) { try await KeySource(noAuthority, logger: .quiet).read() }
    }

    @Test func aFileIsRead() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "jwks-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        let source = KeySource(.file(path: file.path), logger: .quiet)
        let missing = await #expect(throws: KeySetFault.self) { try await source.read() }
        #expect(missing?.isGone == true)
        // A folder in its place says nothing about keys.
        let folder = KeySource(.file(path: FileManager.default.temporaryDirectory.path), logger: .quiet)
        let unreadable = await #expect(throws: KeySetFault.self) { try await folder.read() }
        #expect(unreadable?.isGone == false)
        try Data("{}".utf8).write(to: file)
        let document = try await source.read()
        #expect(document == Array("{}".utf8))
        try Data(repeating: 32, count: KeySource.maximumSize + 1).write(to: file)
        let fault = await #expect(throws: KeySetFault.self) { try await source.read() }
        #expect(fault?.reason == "is larger than 256 KiB")
    }
}

@Suite(.timeLimit(.minutes(2)), .undisturbed) struct StoppedIssuerTests {
    /// Nothing of it lasts longer: not the connection that is being made, and not its closing.
    @Test(arguments: StoppingPeer.Stop.allCases)
    func aFetchEndsWhereverTheIssuerStops(stop: StoppingPeer.Stop) async throws {
        let material = try KeyMaterial.load(folder: nil)
        let trustFile = FileManager.default.temporaryDirectory.appending(path: "authority-\(UUID().uuidString).pem")
        try Data(material.authorityPEM.utf8).write(to: trustFile)
        defer { try? FileManager.default.removeItem(at: trustFile) }
        let tls = try material.serverContext(protocols: ["http/1.1"], takesCertificates: false)
        let answer = StoppingPeer.Answer(200, body: #"{"keys":[]}"#)
        try await StoppingPeer.run(.http1, tls: tls, stopping: stop, answer: { _ in answer }) { peer in
            let place = TokenSettings.KeySetPlace.address(
                url: "https://127.0.0.1:\(peer.port)/keys",
                trustFile: trustFile.path
            )
            let start = ContinuousClock.now
            let fault = await #expect(throws: KeySetFault.self) {
                try await KeySource(place, timeout: .milliseconds(400), logger: .quiet).read()
            }
            #expect(ContinuousClock.now - start < .seconds(1.4))
            #expect(fault?.reason.hasPrefix("gave no complete answer within") == true, "\(String(describing: fault))")
            try await peer.heal()
            #expect(
                try await KeySource(place, timeout: .seconds(30), logger: .quiet).read() == Array(#"{"keys":[]}"#.utf8)
            )
        }
    }
}
