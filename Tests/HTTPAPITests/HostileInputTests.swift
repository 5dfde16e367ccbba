import Callers
import HTTPTypes
import Hummingbird
import NIOCore
import PushModel
import Settings
import Testing
import Undisturbed

@testable import HTTPAPI
@testable import WebServing

@Suite(.undisturbed) struct HostileInputTests {
    private static let bodies: [[UInt8]] = [
        [], [0], [0xFF, 0xFE], Array("\u{0}".utf8), Array("null".utf8), Array("[]".utf8), Array("\"\"".utf8),
        Array("{".utf8),
        [UInt8](repeating: UInt8(ascii: "["), count: 100_000), [UInt8](repeating: UInt8(ascii: "{"), count: 1000),
        Array(#"{"to":{"user":"\u0000"},"body":"x"}"#.utf8),
        Array(#"{"to":{"user":"bob"},"ttl":1e999999,"body":"x"}"#.utf8),
        Array(#"{"Platform":"apns","Handle":"\u0000","Tags":["\ud800"]}"#.utf8),
        Array(#"{"Platform":{"a":1},"Handle":[]}"#.utf8),
        Array(#"{"name":"\u0000","role":"sender"}"#.utf8), Array(#"{"disabled":1e5}"#.utf8),
        Array(#"{"message":"\u0000","richType":7,"content":"../../etc/passwd"}"#.utf8),
        Array(#"{"to":{"user":"bob"},"native":{"apns":{"payload":{"aps":{}},"headers":{"\u0000":"\r\n"}}}}"#.utf8),
        Array(
            #"{"to":{"user":"bob"},"native":{"fcm":{"message":{"data":{"\ud800":"\u0000"}}}},"label":"\u0000"}"#.utf8
        ),
        Array(
            #"{"to":{"user":"bob"},"native":{"wns":{"body":"<!DOCTYPE x [<!ENTITY a \"b\">]><toast>&a;</toast>"}}}"#
                .utf8
        ),
    ]

    @Test func randomBodiesAndQueriesNeverCrash() {
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array("{}[]\":,\\u0dD8e+-.tfn \n".utf8) + [0, 0x80, 0xC3, 0xFF]
        for _ in 0..<5000 {
            let bytes = (0..<Int.random(in: 0...40)).map { _ in alphabet.randomElement(using: &generator) ?? 0 }
            _ = try? ClassicBody(bytes)
            _ = QueryParameters(String(decoding: bytes, as: UTF8.self)).tolerant("a")
        }
    }

    private static let paths: [(HTTPRequest.Method, String)] = [
        (.post, "/api/register?handle=%"), (.post, "/api/register?handle=%00%ff"), (.post, "/api/register?=&&=&handle"),
        (.put, "/api/register/x"), (.put, "/api/register/%00"), (.put, "/api/register/%ff%zz"),
        (.delete, "/api/register/%2e%2e"),
        (.post, "/api/notifications"), (.post, "/api/notifications?pns=apns&to_tag=bob"),
        (.post, "/api/notifications?pns=%00&to_tag=%00"), (.get, "/api/notifications/%00"), (.post, "/api/sends"),
        (.get, "/api/jobs?cursor=%00"), (.get, "/api/jobs?since=99999999999-01-01T00:00:00Z"),
        (.get, "/api/jobs/%00/deliveries"),
        (.get, "/api/registrations?user=%00"), (.delete, "/api/registrations/%00"), (.get, "/api/contents/%00"),
        (.patch, "/api/accounts/%00"), (.patch, "/api/accounts/bob"), (.post, "/api/keys"), (.delete, "/api/keys/%00"),
        (.get, "/api/apps/%00/jobs"), (.get, "/api/apps/default/jobs?limit=99999999999999999999"),
    ]

    @Test func noHostileRequestIsA500() async throws {
        var options = Harness.Options()
        options.configuration.settings.classicWait = .seconds(3)
        try await Harness.run(options) { api async throws in
            for (method, path) in Self.paths {
                for body in Self.bodies {
                    let answer = try await api.call(method, path, as: .user("root"), bytes: body)
                    #expect(
                        answer.status < 500,
                        "\(method) \(path) \(String(decoding: body.prefix(60), as: UTF8.self))"
                    )
                    if answer.status >= 400 {
                        #expect(answer.headers[.contentType] == "application/problem+json")
                    }
                }
            }
        }
    }

    @Test func randomBytesNeverCrash() {
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array("{}[]\":,\\u0dD8e+-.tfn \n".utf8) + [0, 0x80, 0xC3, 0xFF]
        for _ in 0..<5000 {
            let bytes = (0..<Int.random(in: 0...40)).map { _ in alphabet.randomElement(using: &generator) ?? 0 }
            _ = try? ClassicBody(bytes)
            _ = QueryParameters(String(decoding: bytes, as: UTF8.self)).tolerant("a")
        }
    }

    @Test func malformedJSONIsReportedWithItsPosition() async throws {
        try await Harness.run { api async throws in
            let answer = try await api.call(.post, "/api/sends", body: "{\"to\":\n {\"user\" \"bob\"}}")
            #expect(answer.status == 400)
            #expect(answer.json["detail"]?.text?.contains("line 2, column 10") == true, "\(answer.text)")
        }
    }

    @Test func unknownParametersAreNamed() async throws {
        try await Harness.run { api async throws in
            for (method, path, words) in [
                (.post, "/api/sends?foo=1", "foo: no such parameter; this path takes none"),
                (.get, "/api/jobs?foo=1&limit=1", "foo: no such parameter; known are "),
            ] as [(HTTPRequest.Method, String, String)] {
                let answer = try await api.call(method, path)
                #expect(answer.status == 400)
                #expect(answer.json["detail"]?.text?.hasPrefix(words) == true, "\(answer.text)")
            }
        }
    }

    @Test func invalidHeadersAreRefused() async throws {
        try await Harness.run { api async throws in
            let body = #"{"to":{"user":"bob"},"body":"x"}"#
            for prefer in ["wait=", "wait=-1", "wait=99999999999999999999999", ";;,=", "wait=\"0\", respond-async"] {
                let answer = try await api.call(.post, "/api/sends", body: body, headers: ["Prefer": prefer])
                #expect([200, 202].contains(answer.status), "\(prefer)")
            }
            let long = String(repeating: "k", count: 256)
            let refused = try await api.call(.post, "/api/sends", body: body, headers: ["Idempotency-Key": long])
            #expect(refused.wrongMembers == ["Idempotency-Key"])
            for type in [
                "junk", "text/html", "image/svg+xml", "application/xhtml+xml", "text/javascript", "text/css", "*/*",
                "image/png, text/html", "multipart/x-mixed-replace", "text/plain;charset=utf-7",
            ] {
                let answer = try await api.call(.post, "/api/contents", body: "x", headers: ["Content-Type": type])
                #expect(answer.status == 415 && answer.wrongMembers == ["Content-Type"], "\(type)")
            }
        }
    }
}
