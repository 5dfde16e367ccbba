import Foundation
import Testing
import Undisturbed

@testable import PushlineSimulator

@Suite("WNS' rules", .undisturbed)
struct WNSRuleTests {
    /// One rule broken.
    struct Case: Sendable {
        var status: Int
        var headers: [String: String?] = [:]
        var body = "<toast><visual/></toast>"
    }

    static let raw: [String: String?] = ["X-WNS-Type": "wns/raw", "Content-Type": "application/octet-stream"]
    static let cases: [Case] = [
        Case(status: 401, headers: ["Authorization": nil]),
        Case(status: 401, headers: ["Authorization": "Bearer other"]),
        Case(status: 400, headers: ["X-WNS-Type": nil]),
        Case(status: 400, headers: ["X-WNS-Type": "wns/letter"]),
        Case(status: 400, headers: ["Content-Type": "application/octet-stream"]),
        Case(status: 400, headers: ["X-WNS-Type": "wns/raw"]),
        Case(status: 400, headers: ["X-WNS-Type": "wns/badge"]),
        Case(status: 400, headers: ["X-WNS-TTL": "soon"]),
        Case(status: 400, headers: ["X-WNS-Tag": "seventeen-letters"]),
        Case(status: 400, headers: ["X-WNS-PRIORITY": "5"]),
        Case(status: 400, headers: ["X-WNS-Cache-Policy": "maybe"]),
        Case(status: 400, headers: ["X-WNS-TTL": "0", "X-WNS-Cache-Policy": "cache"]),
        // Tiles and badges are cached where nothing is said, toasts are not.
        Case(status: 400, headers: ["X-WNS-TTL": "0", "X-WNS-Type": "wns/tile"], body: "<tile/>"),
        Case(status: 200, headers: ["X-WNS-TTL": "0"]),
        Case(status: 200, headers: ["X-WNS-TTL": "0", "X-WNS-Cache-Policy": "no-cache"]),
        Case(status: 200, headers: ["X-WNS-TTL": "60", "X-WNS-Cache-Policy": "cache"]),
        Case(status: 400, headers: ["X-WNS-SuppressPopup": "true"]),
        Case(status: 400, headers: ["Expect": "200-ok"]),
        Case(status: 400, body: "<toast>a & b</toast>"),
        Case(status: 400, body: "<toast>"),
        Case(status: 400, body: #"<!DOCTYPE toast [<!ENTITY a "b">]><toast>&a;</toast>"#),
        Case(status: 413, body: "<toast>" + String(repeating: "x", count: 4986) + "</toast>"),
        Case(status: 200, body: "<toast>" + String(repeating: "x", count: 4985) + "</toast>"),
        Case(status: 200, headers: Self.raw, body: "any & <bytes>"),
        Case(status: 200, headers: ["X-WNS-Type": "wns/badge"], body: #"<badge value="7"/>"#),
        Case(status: 200, headers: ["X-WNS-Type": "wns/tile"], body: "<tile/>"),
        Case(status: 200, body: #"<?xml version="1.0" encoding="utf-8"?><toast>a &amp; 😀</toast>"#),
        Case(status: 200, headers: ["X-WNS-TTL": "60", "X-WNS-Tag": "tag1", "X-WNS-PRIORITY": "1"]),
    ]

    @Test func everyWNSRuleIsEnforced() async throws {
        try await withClient { client in
            let token = try #require(try await client.wnsToken().json["access_token"] as? String)
            for item in Self.cases {
                let reply = try await client.toast(headers: item.headers, authorization: token, body: item.body)
                #expect(reply.status == item.status, "\(item)")
                #expect((reply.headers["x-wns-error-description"] == nil) == (item.status == 200))
            }
            let chunked = try await client.toast(authorization: token, chunked: true)
            #expect(chunked.status == 400)
            let state = try await client.toast(headers: ["X-WNS-RequestForStatus": "true"], authorization: token)
            #expect(state.headers["x-wns-deviceconnectionstatus"] == "connected")
            let get = try await client.send(
                "GET",
                try client.simulator.urls.wnsChannel + "c",
                headers: [("Authorization", "Bearer " + token)]
            )
            #expect(get.status == 405)
            let unknown = try await client.send("POST", try client.simulator.urls.wns + "/other", body: "x")
            #expect(unknown.status == 404)
        }
    }

    @Test func clientsAreVerified() async throws {
        try await withClient { client in
            let entra = try await client.wnsToken(secret: "wrong")
            #expect(entra.status == 401)
            #expect(entra.json["error"] as? String == "invalid_client")
            let store = try await client.wnsToken(secret: "wrong", isStore: true)
            #expect(store.status == 400)
            let scope = try await client.wnsToken(scope: "https://graph.microsoft.com/.default")
            #expect(scope.json["error"] as? String == "invalid_scope")
            let fcm = try await client.fcmToken()
            #expect(try await client.toast(authorization: fcm).status == 401, "another service's token")
        }
    }
}
