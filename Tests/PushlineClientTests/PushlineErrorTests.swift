import Foundation
import Testing

@testable import PushlineClient

@Suite struct PushlineErrorTests {
    @Test(arguments: [
        (400, PushlineError.Code.invalidRequest), (401, .unauthorized), (403, .forbidden), (404, .notFound),
        (409, .conflict),
        (410, .gone), (413, .tooLarge), (422, .keyReused), (429, .tooManyRequests), (503, .unavailable),
        (500, .refused),
        (302, .refused), (405, .refused),
    ])
    func statuses(status: Int, code: PushlineError.Code) async throws {
        let transport = ScriptedTransport(HTTPAnswer(status: status))
        let error = await #expect(throws: PushlineError.self) { try await client(transport).job("x") }
        #expect(error?.code == code)
        #expect(error?.status == status)
        #expect(error?.message == "the server answered with status \(status)")
    }

    @Test func problem() async throws {
        let text = """
            {"type":"urn:pushline:problem:invalid-request","title":"Bad Request","status":400,"detail":"to.tag: is wrong",
            "errors":[{"member":"to.tag","reason":"is wrong"}]}
            """
        let transport = ScriptedTransport(.json(text, status: 400, headers: ["retry-after": "7"]))
        let error = await #expect(throws: PushlineError.self) { try await client(transport).job("x") }
        #expect(error?.description == "to.tag: is wrong (status 400)")
        #expect(error?.faults == [PushlineError.Fault(member: "to.tag", reason: "is wrong")])
        #expect(error?.retryAfter == 7)
    }

    @Test(arguments: ["", "<html>", "{}", "[]", "null", #"{"id":1}"#]) func answersOfSomethingElse(text: String)
        async throws
    {
        let transport = ScriptedTransport(.json(text))
        let error = await #expect(throws: PushlineError.self) { try await client(transport).job("x") }
        #expect(error?.code == .unexpectedAnswer)
    }

    @Test func deadline() async throws {
        let transport = ScriptedTransport([
            {
                try await Task.sleep(for: .seconds(60))
                return HTTPAnswer(status: 200)
            }
        ])
        let error = await #expect(throws: PushlineError.self) {
            try await client(transport, deadline: .milliseconds(50)).job("x")
        }
        #expect(error?.code == .timeout)
    }

    @Test func cancellation() async throws {
        let transport = ScriptedTransport([
            {
                try await Task.sleep(for: .seconds(60))
                return HTTPAnswer(status: 200)
            }
        ])
        let client = try client(transport)
        let task = Task { try await client.job("x") }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test(arguments: ["ftp://host", "host", "/api", "http://"]) func addressesThatAreNone(text: String) async throws {
        let client = PushlineClient(url: try #require(URL(string: text)), credentials: .key("plk_x"))
        let error = await #expect(throws: PushlineError.self) { try await client.job("x") }
        #expect(error?.code == .invalidURL)
    }
}

/// Through the network, to servers that are none.
@Suite struct URLSessionTransportTests {
    @Test func nobodyListens() async throws {
        let socket = try SilentSocket(listens: false)
        let url = try #require(URL(string: "http://127.0.0.1:\(socket.port)"))
        let error = await #expect(throws: PushlineError.self) {
            try await PushlineClient(url: url, credentials: .key("plk_x")).job("x")
        }
        #expect(error?.code == .unreachable)
    }

    @Test func nobodyAnswers() async throws {
        let socket = try SilentSocket(listens: true)
        let url = try #require(URL(string: "http://127.0.0.1:\(socket.port)"))
        let start = ContinuousClock.now
        let error = await #expect(throws: PushlineError.self) {
            try await PushlineClient(url: url, credentials: .key("plk_x"), deadline: .milliseconds(300)).job("x")
        }
        #expect(error?.code == .timeout)
        #expect(ContinuousClock.now - start < .seconds(20))
    }
}
