import Foundation
import Testing
import Undisturbed

@testable import PushlineClient

@Suite(.undisturbed) struct PushlineErrorTests {
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
        let foreign = "http://host:1 answered \(status), and is not a Pushline API"
        #expect(
            error?.message
                == ([302, 404, 405].contains(status) ? foreign : "the server answered with status \(status)")
        )
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

    @Test(arguments: ["", "<html>", "{}", "[]", "null", #"{"id":1}"#]) func answersThatAreNotPushlinesAreErrors(
        text: String
    )
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

    @Test(arguments: ["ftp://host", "host", "/api", "http://"]) func invalidAddressesAreErrors(text: String)
        async throws
    {
        let client = PushlineClient(url: try #require(URL(string: text)), credentials: .key("plk_x"))
        let error = await #expect(throws: PushlineError.self) { try await client.job("x") }
        #expect(error?.code == .invalidURL)
    }

    /// Another resource would be deleted: addresses lose such parts on their way.
    @Test(arguments: [".", ".."]) func noNameIsAWayThroughAPath(name: String) async throws {
        let caller = try client(ScriptedTransport())
        let error = await #expect(throws: PushlineError.self) { try await caller.removeUser(name) }
        #expect(error?.code == .invalidRequest)
    }
}

/// Through the network, to servers that are none or say no.
@Suite(.undisturbed) struct URLSessionTransportTests {
    private func error(of manner: LoneSocket.Manner, deadline: Duration = .seconds(20)) async throws -> PushlineError? {
        let socket = try LoneSocket(manner)
        let client = PushlineClient(url: try #require(socket.url), credentials: .key("plk_x"), deadline: deadline)
        return await #expect(throws: PushlineError.self) { try await client.job("x") }
    }

    private func answer(_ status: String, _ headers: String = "", body: String = "") -> LoneSocket.Manner {
        .answers(
            "HTTP/1.1 \(status)\r\n\(headers)Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
        )
    }

    @Test func aRefusedConnectionIsUnreachable() async throws {
        #expect(try await self.error(of: .refuses)?.code == .unreachable)
    }

    @Test func aSilentServerIsATimeout() async throws {
        let start = ContinuousClock.now
        #expect(try await self.error(of: .isSilent, deadline: .milliseconds(300))?.code == .timeout)
        #expect(ContinuousClock.now - start < .seconds(20))
    }

    /// On Linux, Foundation itself would wait for credentials for ever.
    @Test func wrongCredentials() async throws {
        let error = try await self.error(
            of: self.answer(
                "401 Unauthorized",
                "WWW-Authenticate: Basic realm=\"pushline\", Bearer realm=\"pushline\"\r\n",
                body: #"{"title":"Unauthorized","detail":"unknown key; keys begin with plk_"}"#
            )
        )
        #expect(error?.code == .unauthorized)
        #expect(error?.message == "unknown key; keys begin with plk_ (status 401)")
    }

    @Test(arguments: ["404 Not Found", "405 Method Not Allowed", "301 Moved Permanently"])
    func anAnswerThatIsNotPushlinesIsNamed(status: String) async throws {
        let error = try await self.error(of: self.answer(status, body: "<html>nothing here</html>"))
        #expect(error?.isForeign == true)
        #expect(error?.message.hasPrefix("http://127.0.0.1:") == true, "\(error?.message ?? "")")
        #expect(error?.message.hasSuffix("answered \(status.prefix(3)), and is not a Pushline API") == true)
    }

    @Test func anAnswerWithoutJSONIsNotPushlines() async throws {
        let error = try await self.error(of: self.answer("200 OK", body: "<html>It works!</html>"))
        #expect(error?.code == .unexpectedAnswer && error?.isForeign == true)
        #expect(error?.message.hasSuffix("answered 200 without JSON, and is not a Pushline API") == true)
    }

    @Test(arguments: ["502 Bad Gateway", "403 Forbidden"]) func aProxyMayRefuse(status: String) async throws {
        #expect(try await self.error(of: self.answer(status, body: "<html></html>"))?.isForeign == false)
    }

    @Test func redirectsAreNotFollowed() async throws {
        let elsewhere = try LoneSocket(.isSilent)
        let location = "Location: \(elsewhere.url?.absoluteString ?? "")/stolen\r\n"
        #expect(try await self.error(of: self.answer("302 Found", location))?.status == 302)
    }

    @Test func retryAfterIsRead() async throws {
        let error = try await self.error(of: self.answer("503 Service Unavailable", "RETRY-AFTER: 7\r\n"))
        #expect(error?.code == .unavailable)
        #expect(error?.retryAfter == 7)
    }

    @Test func aServerOfAnotherProtocolIsAnError() async throws {
        let error = try await self.error(of: .answers("SSH-2.0-OpenSSH_9.2\r\n"))
        #expect(error?.code == .unreachable || error?.code == .unexpectedAnswer)
    }

    @Test func aCancelledCallEndsAtOnce() async throws {
        let socket = try LoneSocket(.isSilent)
        let client = PushlineClient(url: try #require(socket.url), credentials: .key("plk_x"))
        for delay in [0, 0, 0, 1, 50] {
            let task = Task { try await client.job("x") }
            if delay > 0 { try await Task.sleep(for: .milliseconds(delay)) }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }
}
