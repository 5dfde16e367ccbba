import AsyncHTTPClient
import Foundation
import Testing
import Undisturbed

@testable import PushlineSimulator

@Suite("What happens to connections", .timeLimit(.minutes(5)), .undisturbed)
struct ConnectionTests {
    typealias Frame = RawHTTP2.Frame

    /// Runs a body with a raw connection to APNs and the headers of a good push.
    func withRawAPNs(
        _ configuration: SimulatorConfiguration = SimulatorConfiguration(),
        faults: [SimulatorFault] = [],
        _ body: @escaping @Sendable (RawHTTP2, inout RawHTTP2.Reader, [(String, String)]) async throws -> Void
    ) async throws {
        try await withClient(configuration) { client in
            for fault in faults { client.simulator.inject(fault) }
            let headers = try client.rawHeaders(try await client.providerToken())
            try await RawHTTP2.connect(
                to: try client.simulator.urls.apns,
                trust: try client.simulator.credentials.trustPEM
            ) { raw, reader in
                try await body(raw, &reader, headers)
            }
        }
    }

    @Test func streamsOpenWithTheFirstValidToken() async throws {
        try await self.withRawAPNs { raw, reader, headers in
            let first = try await reader.next { $0.maxConcurrentStreams != nil }
            #expect(first?.maxConcurrentStreams == 1)
            try await raw.acknowledgeSettings()
            let bad = headers.map { $0.0 == "authorization" ? ("authorization", "bearer a.b.c") : $0 }
            try await raw.request(1, path: Client.rawPath, headers: bad, body: Client.rawBody)
            let refused = try await reader.next { $0.type == Frame.headers || $0.maxConcurrentStreams != nil }
            #expect(refused?.type == Frame.headers, "a bad token opens nothing")
            try await raw.request(3, path: Client.rawPath, headers: headers, body: Client.rawBody)
            let second = try await reader.next { $0.maxConcurrentStreams != nil }
            #expect(second?.maxConcurrentStreams == 1000)
        }
    }

    @Test(
        arguments: [(SimulatorFault.Action.reset, 2), (.swallow, 2), (.refuse, 7)] as [(SimulatorFault.Action, UInt32)]
    )
    func streamsAreReset(action: SimulatorFault.Action, code: UInt32) async throws {
        try await self.withRawAPNs(faults: [SimulatorFault(action, count: 1)]) { raw, reader, headers in
            try await raw.acknowledgeSettings()
            try await raw.request(1, path: Client.rawPath, headers: headers, body: Client.rawBody)
            let reset = try await reader.next { $0.type == Frame.reset }
            #expect(reset?.stream == 1)
            #expect(reset?.number(at: 0) == code)
            try await raw.acknowledgeSettings()
            try await raw.request(3, path: Client.rawPath, headers: headers, body: Client.rawBody)
            let answer = try await reader.next { $0.type == Frame.headers }
            #expect(answer?.stream == 3, "the connection lives on")
        }
    }

    @Test func goAwayRejectsTheRequestWithAReason() async throws {
        try await self.withRawAPNs(faults: [SimulatorFault(.goAway(reason: "Shutdown"))]) { raw, reader, headers in
            try await raw.acknowledgeSettings()
            try await raw.request(1, path: Client.rawPath, headers: headers, body: Client.rawBody)
            let frame = try await reader.next { $0.type == Frame.goAway }
            #expect(frame?.number(at: 0) == 0, "no stream was processed")
            #expect(frame?.text.hasSuffix(#"{"reason":"Shutdown"}"#) == true)
            let answer = try await reader.next { $0.type == Frame.headers }
            #expect(answer == nil)
        }
    }

    @Test func gracefulGoAwayAnswersFirst() async throws {
        let fault = SimulatorFault(.goAway(reason: "IdleTimeout", graceful: true))
        try await self.withRawAPNs(faults: [fault]) { raw, reader, headers in
            try await raw.acknowledgeSettings()
            try await raw.request(1, path: Client.rawPath, headers: headers, body: Client.rawBody)
            let answer = try await reader.next { [Frame.headers, Frame.goAway].contains($0.type) }
            #expect(answer?.type == Frame.headers)
            let frame = try await reader.next { $0.type == Frame.goAway }
            #expect(frame?.number(at: 0) == 1)
            let end = try await reader.next { _ in false }
            #expect(end == nil, "the connection ends")
        }
    }

    @Test func settingsChangeOnRequest() async throws {
        let fault = SimulatorFault(.settings(maxConcurrentStreams: 7))
        try await self.withRawAPNs(faults: [fault]) { raw, reader, headers in
            try await raw.acknowledgeSettings()
            try await raw.request(1, path: Client.rawPath, headers: headers, body: Client.rawBody)
            let change = try await reader.next { $0.maxConcurrentStreams != nil && $0.maxConcurrentStreams != 1 }
            #expect(change?.maxConcurrentStreams == 7)
            let answer = try await reader.next { $0.type == Frame.headers }
            #expect(answer != nil, "and the answer comes as usual")
        }
    }

    @Test func aCutConnectionSendsNothing() async throws {
        try await self.withRawAPNs(faults: [SimulatorFault(.close)]) { raw, reader, headers in
            try await raw.acknowledgeSettings()
            try await raw.request(1, path: Client.rawPath, headers: headers, body: Client.rawBody)
            let frame = try await reader.next { [Frame.headers, Frame.goAway, Frame.reset].contains($0.type) }
            #expect(frame == nil)
        }
    }

    @Test func oneStreamTooManyClosesAnFCMConnection() async throws {
        try await withClient(SimulatorConfiguration(fcmStreams: 3)) { client in
            let urls = try client.simulator.urls
            let trust = try client.simulator.credentials.trustPEM
            try await RawHTTP2.connect(to: urls.fcm, trust: trust) { raw, reader in
                let first = try await reader.next { $0.maxConcurrentStreams != nil }
                #expect(first?.maxConcurrentStreams == 3)
                try await raw.acknowledgeSettings()
                for stream: UInt32 in [1, 3, 5, 7] {
                    try await raw.request(stream, path: "/v1/projects/p/messages:send", headers: [], body: nil)
                }
                let last = try await reader.next {
                    $0.type == Frame.goAway && $0.text.hasSuffix("exceeded_max_concurrent_streams")
                }
                #expect(last != nil)
            }
        }
    }

    @Test func aLargeBodyIsReadCompletelyAndRefused() async throws {
        try await withClient { client in
            // More than a stream's first window.
            let body = #"{"aps":{"alert":""# + String(repeating: "x", count: 200_000) + #""}}"#
            let reply = try await client.push(authorization: try await client.providerToken(), body: body)
            #expect(reply.status == 413)
            #expect(reply.reason == "PayloadTooLarge")
        }
    }

    @Test func aClientWithoutHTTP2IsCutByAPNsAndServedByFCM() async throws {
        try await withClient(version: .http1Only) { client in
            let token = try await client.fcmToken()
            let reply = try await client.message(#"{"message":{"token":"t"}}"#, authorization: token)
            #expect(reply.status == 200)
            #expect(!reply.isHTTP2)
            let provider = try await client.providerToken()
            await #expect(throws: (any Error).self) { try await client.push(authorization: provider) }
        }
    }
}
