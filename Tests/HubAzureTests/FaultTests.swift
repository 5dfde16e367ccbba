import HubAzure
import HubWire
import NIOPosix
import PushModel
import PushlineSimulator
import RawHTTP
import Testing
import Undisturbed

/// A hub that is not there, breaks off or says nothing: a send was surely not taken, or may have been (rule 18).
@Suite("Faults on the way to an Azure hub", .timeLimit(.minutes(2)), .undisturbed)
struct FaultTests {
    private func send(_ scripted: ScriptedHub) async throws -> AzureReceipt {
        try await scripted.hub.send(AzureSend(.native(.apple), body: Array("{}".utf8), to: .all))
    }

    private func expectNotTaken(_ scripted: ScriptedHub) async throws {
        let error = try await failure { _ = try await self.send(scripted) }
        #expect(error.kind == .retryLater && error.status == nil && !error.mayHaveBeenTaken, "\(error)")
        #expect(error.trackingID != nil)
    }

    private func expectUnknown(_ scripted: ScriptedHub) async throws {
        let error = try await failure { _ = try await self.send(scripted) }
        #expect(error.kind == .unanswered && error.mayHaveBeenTaken, "\(error)")
    }

    /// A server that meets each connection so, and its client.
    private func with(_ door: RawServer.Door, _ body: (ScriptedHub) async throws -> Void) async throws {
        try await RawServer.run(door, react: { _ in .silence }) { server in
            try await ScriptedHub.withClient(
                of: server.port,
                configure: { ($0.connectTimeout, $0.requestTimeout) = (.milliseconds(500), .seconds(5)) },
                body
            )
        }
    }

    // MARK: Surely not taken

    @Test("nobody listens there, or there is no such host", arguments: ["127.0.0.1", "localhost", "hub.invalid"])
    func nobody(host: String) async throws {
        try await ScriptedHub.withClient(of: 1, at: host) { try await self.expectNotTaken($0) }
    }

    /// A close that overtakes the client's first bytes is a reset, as it also is behind a request: that one counts as unknown.
    @Test("the connection is closed before a word")
    func closed() async throws {
        try await self.with(.closed) { scripted in
            let error = try await failure { _ = try await self.send(scripted) }
            #expect(error.status == nil, "\(error)")
            #expect(error.kind == (error.mayHaveBeenTaken ? .unanswered : .retryLater), "\(error)")
        }
    }

    @Test("the connection is made and nothing is said")
    func mute() async throws { try await self.with(.mute, self.expectNotTaken) }

    @Test("the certificate has ended, or is another's")
    func certificates() async throws {
        let material = try KeyMaterial.load(folder: nil)
        let expired = try material.serverContext(protocols: ["http/1.1"], takesCertificates: false, isExpired: true)
        try await self.with(.tls(expired), self.expectNotTaken)
        let good = try material.serverContext(protocols: ["http/1.1"], takesCertificates: false)
        try await RawServer.run(.tls(good), react: { _ in .answer(201) }) { server in
            // The loopback has more addresses than the certificate.
            try await ScriptedHub.withClient(of: server.port, at: "127.0.0.2") { scripted in
                let error = try await failure { _ = try await self.send(scripted) }
                #expect(!error.mayHaveBeenTaken, "\(error)")
            }
        }
    }

    @Test("no connection becomes free in time")
    func busy() async throws {
        try await ScriptedHub.with(
            .silence,
            configure: {
                ($0.connections, $0.connectTimeout, $0.requestTimeout) = (1, .milliseconds(300), .seconds(3))
            }
        ) { scripted in
            async let first: Void = self.expectUnknown(scripted)
            while scripted.requests.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
            try await self.expectNotTaken(scripted)
            try await first
        }
    }

    // MARK: Who knows

    @Test("the connection is reset after the request")
    func reset() async throws {
        try await ScriptedHub.with(.cut(after: [])) { try await self.expectUnknown($0) }
    }

    @Test(
        "the answer breaks off, or is none",
        arguments: [
            RawServer.Reply.cut(after: Array("HTTP/1.1 2".utf8)), .bytes(Array("220 mail.example.com ESMTP\r\n".utf8)),
            .bytes(Array("HTTP/1.1 201 x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n".utf8)),
        ]
    )
    func broken(reply: RawServer.Reply) async throws {
        try await ScriptedHub.with(reply, configure: { $0.requestTimeout = .seconds(2) }) {
            try await self.expectUnknown($0)
        }
    }

    @Test("silence ends with the deadline")
    func silence() async throws {
        try await ScriptedHub.with(.silence, configure: { $0.requestTimeout = .milliseconds(300) }) { scripted in
            let start = ContinuousClock.now
            try await self.expectUnknown(scripted)
            #expect(ContinuousClock.now - start < .seconds(20))
        }
    }

    @Test("the try after a 401 has no deadline of its own")
    func silenceAfterRefusal() async throws {
        let date = ("Date", "Fri, 15 Jan 2027 10:00:00 GMT")
        try await ScriptedHub.with(
            .refusal(401, "", [date]),
            .silence,
            configure: { $0.requestTimeout = .milliseconds(500) }
        ) { try await self.expectUnknown($0) }
    }

    // MARK: Taken

    @Test(
        "a send is taken by its head, whatever becomes of the rest",
        arguments: [
            RawServer.Reply.cut(after: Array("HTTP/1.1 201 x\r\ncontent-length: 10\r\n\r\nab".utf8)),
            .bytes(Array("HTTP/1.1 201 x\r\ncontent-length: 10\r\n\r\nab".utf8)),
            .answer(201, body: Array(repeating: 32, count: 1 << 20)),
        ]
    )
    func taken(reply: RawServer.Reply) async throws {
        try await ScriptedHub.with(reply, configure: { $0.requestTimeout = .milliseconds(500) }) { scripted in
            try await #expect(self.send(scripted).notificationID == nil)
        }
    }

    @Test(
        "an answer that is needed and not whole is no answer",
        arguments: [
            (RawServer.Reply.cut(after: Array("HTTP/1.1 200 x\r\ncontent-length: 10\r\n\r\n<a".utf8)), "broke off"),
            (.bytes(Array("HTTP/1.1 200 x\r\ncontent-length: 10\r\n\r\n<a".utf8)), "did not end in time"),
            (.answer(200, body: Array(repeating: 32, count: 600 << 10)), "is longer than 524288 bytes"),
            (.xml(200, "<entry><content>\(String(repeating: "<a>", count: 1000))"), "is not XML"),
            (.xml(200, #"<!DOCTYPE a [<!ENTITY b "c">]><entry/>"#), "is not XML"),
            (.xml(200, "<entry/>"), "must have a content"), (.answer(204), "is not XML"),
        ]
    )
    func unreadable(reply: RawServer.Reply, reason: String) async throws {
        try await ScriptedHub.with(reply, configure: { $0.requestTimeout = .seconds(2) }) { scripted in
            let error = try await failure { _ = try await scripted.hub.registration("1") }
            #expect(error.kind == .unanswered && error.message.contains(reason), "\(error)")
        }
    }
}
