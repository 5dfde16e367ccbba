import AnswersLost
import HTTPTypes
import PushModel
import Store
import Testing
import Undisturbed
import WebServing

@testable import HTTPAPI

/// What is said of a request whose outcome nobody knows, for the store's answer was lost.
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct LostAnswerTests {
    private static let send = #"{"to":{"user":"bob"},"title":"Order","body":"It is on its way"}"#
    private static let registration =
        #"{"Platform":"apns","Handle":"\#(String(repeating: "ab", count: 32))"}"#

    /// The problem of a request of alice's, and the value of `Retry-After`.
    private static func problem(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ headers: [String: String] = [:],
        body: String = "",
        _ server: LostServer
    ) async throws -> (JSONValue, retryAfter: Substring?) {
        var headers = headers
        headers["Host"] = "localhost"
        headers["Authorization"] = Harness.As.user("alice").header
        let bytes = try await server.bytes(method, path, headers, body: body)
        #expect(bytes.hasPrefix("HTTP/1.1 503 "), "\(method) \(path): \(bytes)")
        let halves = bytes.split(separator: "\r\n\r\n", maxSplits: 1)
        let problem = try JSONReader.read(Array(try #require(halves.last).utf8))
        #expect(problem["type"]?.text == "urn:pushline:problem:outcome-unknown", "\(bytes)")
        let name = "retry-after: "
        let line = halves[0].split(separator: "\r\n").first { $0.lowercased().hasPrefix(name) }
        return (problem, line?.dropFirst(name.count))
    }

    @Test(arguments: [("/api/sends", Self.send), ("/api/notifications?pns=apns&to_tag=bob", #""hello""#)])
    func aPOSTIsToBeRepeatedWithItsKeyAlone(path: String, body: String) async throws {
        try await Harness.run { api async throws in
            try await AnswersLost(api.front).serve { server in
                let (plain, none) = try await Self.problem(.post, path, body: body, server)
                #expect(none == nil)
                #expect(plain["detail"]?.text?.hasSuffix("may have been done; look before you repeat it") == true)
                for _ in 0..<2 {
                    let key = ["Idempotency-Key": "order-1"]
                    let (keyed, wait) = try await Self.problem(.post, path, key, body: body, server)
                    #expect(wait == "5")
                    #expect(keyed["detail"]?.text?.hasSuffix("may have been done; repeating it is safe") == true)
                }
            }
            // That without a key, and that with one, which was repeated.
            #expect(try await api.store.jobs(JobQuery(app: .default, kind: .send)).items.count == 2)
        }
    }

    /// Its repeat would make another.
    @Test func aKeyThatTheRouteIgnoresMakesNoRepeatSafe() async throws {
        try await Harness.run { api async throws in
            try await AnswersLost(api.front).serve { server in
                let key = ["Idempotency-Key": "device-1"]
                let path = "/api/register"
                let problem = try await Self.problem(.post, path, key, server)
                #expect(problem.retryAfter == nil)
            }
        }
    }

    @Test func otherMethodsAreToBeRepeated() async throws {
        try await Harness.run { api async throws in
            let path = "/api/register/\(RegistrationID.random())"
            try await AnswersLost(api.front).serve { server in
                for (method, body) in [(HTTPRequest.Method.put, Self.registration), (.delete, "")] {
                    for _ in 0..<2 {
                        let problem = try await Self.problem(method, path, body: body, server)
                        #expect(problem.retryAfter == "5")
                    }
                }
            }
        }
    }
}
