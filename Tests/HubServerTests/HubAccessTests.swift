import HTTPTypes
import HubWire
import HummingbirdTesting
import PushModel
import Testing
import Undisturbed

@Suite("Access to a hub", .undisturbed)
struct HubAccessTests {
    @Test("Every client's token is taken, with either key")
    func tokens() async throws {
        try await HubHarness.run { hub in
            let port = try #require(hub.client.port)
            let expires = Timestamp.now.advanced(by: .seconds(60))
            for audience in [
                "https://localhost:\(port)/default/registrationids/?api-version=2020-06",
                "http://localhost/default/registrationids/",
                "https://localhost:\(port)/", "https://localhost:\(port)/default",
                "http://localhost:\(port)/Default/RegistrationIDs/",
            ] {
                for key in ["full-key==", "second-full-key=="] {
                    let token = SASToken.make(audience: audience, rule: "Full", key: key, expires: expires)
                    let answer = try await hub.call(
                        .post,
                        "/default/registrationids/?api-version=2020-06",
                        as: nil,
                        headers: ["Authorization": token]
                    )
                    #expect(answer.status == 201, "\(audience)")
                }
            }
        }
    }

    @Test("A wrong token of any kind is 401 in the same words")
    func wrongTokens() async throws {
        try await HubHarness.run { hub in
            let now = Timestamp.now
            func token(_ audience: String, _ rule: String = "Full", _ key: String = "full-key==", _ seconds: Int = 60)
                -> String
            {
                SASToken.make(audience: audience, rule: rule, key: key, expires: now.advanced(by: .seconds(seconds)))
            }
            let tokens = [
                "", "x", "Bearer x", token("https://localhost/", "Full", "wrong"), token("https://localhost/", "None"),
                token("https://localhost/", "Full", "full-key==", -10), token("https://other/"),
                token("https://localhost/other"),
                token("https://localhost/", "Full", "listen-key=="), "SharedAccessSignature sr=&sig=&se=&skn=",
            ]
            var details: Set<String> = []
            for (path, token) in tokens.map({ ("/default/registrationids", $0) }) + [
                ("/nohub/registrationids", token("https://localhost/"))
            ] {
                let answer = try await hub.call(.post, path, as: nil, headers: ["Authorization": token])
                #expect(answer.status == 401, "\(token)")
                #expect(answer.header("Content-Type") == "application/xml; charset=utf-8")
                details.insert(String(try #require(try answer.element("Detail")).prefix { $0 != "." }))
            }
            #expect(details.count == 1)
            #expect(try await hub.call(.post, "/default/registrationids", as: nil).status == 401)
        }
    }

    @Test("A rule does what its rights say, and 401 names the one that is missing")
    func rights() async throws {
        try await HubHarness.run { hub in
            let send = ["ServiceBusNotification-Format": "apple"]
            let body = #"{"aps":{"alert":"x"}}"#
            #expect(try await hub.call(.post, "/default/messages", as: "Send", body: body, headers: send).status == 201)
            let refused = try await hub.call(.post, "/default/messages", as: "Listen", body: body, headers: send)
            #expect(refused.status == 401 && refused.text.contains("Send"))
            #expect(try await hub.call(.post, "/default/registrationids", as: "Send").status == 401)
            #expect(
                try await hub.call(.post, "/default/registrations", as: "Listen", body: HubHarness.apple()).status
                    == 200
            )
            #expect(try await hub.call(.get, "/default/registrations", as: "Listen").status == 401)
            #expect(try await hub.call(.get, "/default/tags/a/registrations", as: "Listen").status == 401)
            let byHandle = "/default/registrations?$filter=DeviceToken+eq+'\(HubHarness.token)'"
            #expect(try await hub.call(.get, byHandle, as: "Listen").registrations.count == 1)
        }
    }

    @Test("Unknown paths are 404, and what is not offered is 400 that says so")
    func unknown() async throws {
        try await HubHarness.run { hub in
            for path in ["/default/nothing", "/default/registrations/1/2", "/default/messages/x/y", "/"] {
                #expect(try await hub.call(.get, path).status == 404, "\(path)")
            }
            for (method, path, word) in [
                (HTTPRequest.Method.post, "/default/jobs", "import"), (.get, "/default/feedbackcontainer", "feedback"),
                (.put, "/default", "declared"), (.post, "/default/messages/$batch?test", "test"),
            ] {
                let answer = try await hub.call(method, path)
                #expect(answer.status == 400 && answer.text.contains(word), "\(path): \(answer.text)")
            }
            let jobs = try await hub.call(.get, "/default/jobs")
            #expect(
                jobs.status == 200 && jobs.header("Content-Type") == "application/atom+xml; type=feed; charset=utf-8"
            )
        }
    }

    @Test("The client's tracking id comes back; one that is none is replaced")
    func trackingIDs() async throws {
        try await HubHarness.run { hub in
            let id = "0B7A7A3E-2C7D-4E58-9D0A-0123456789AB"
            let answer = try await hub.call(.post, "/default/registrationids", headers: ["TrackingId": id])
            #expect(answer.header("TrackingId") == id && answer.header("x-ms-correlation-request-id") != nil)
            let other = try await hub.call(.post, "/default/registrationids", headers: ["TrackingId": "<x>"])
            #expect(other.header("TrackingId") != "<x>" && other.header("TrackingId") != nil)
        }
    }

    @Test("A body beyond 64 KB is 413")
    func large() async throws {
        try await HubHarness.run { hub in
            let body = String(repeating: "a", count: (64 << 10) + 1)
            let answer = try await hub.call(
                .post,
                "/default/messages",
                body: body,
                headers: ["ServiceBusNotification-Format": "apple"]
            )
            #expect(answer.status == 413)
        }
    }

    @Test("A hub that does not answer is 503 with a whole number of seconds")
    func silence() async throws {
        try await HubHarness.run(answers: false) { hub in
            let answer = try await hub.call(.post, "/default/registrations", body: HubHarness.apple())
            #expect(answer.status == 503 && answer.header("Retry-After").flatMap { Int($0) } == 5)
        }
    }

    @Test("A rule that is flooded is told when to come again, and leaves the others their places")
    func flood() async throws {
        try await HubHarness.run(spec: AppSpec { $0.requestsPerSecond = 1 }) { hub in
            let path = "/default/registrationids"
            var statuses: [Int] = []
            var wait: String?
            for _ in 0..<30 {
                let answer = try await hub.call(.post, path, as: "Listen")
                statuses.append(answer.status)
                wait = wait ?? answer.header("Retry-After")
            }
            #expect(statuses.first == 201 && statuses.contains(429), "\(statuses)")
            #expect(wait.flatMap { Int($0) } != nil)
            #expect(try await hub.call(.post, path, as: "Full").status == 201)
        }
    }
}
