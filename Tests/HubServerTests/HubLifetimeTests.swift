import HTTPTypes
import HubWire
import PushModel
import Store
import Testing
import Undisturbed

/// When registrations end whose app has a lifetime for them (`registration_lifetime_days`).
@Suite("Ends of registrations at a hub", .undisturbed)
struct HubLifetimeTests {
    private static let channel = #""platform":"apns","pushChannel":"\#(HubHarness.token)""#
    private static let path = "/default/installations/i"
    private static let patch = #"[{"op":"replace","path":"/userId","value":"ann"}]"#

    private static func end(_ hub: HubHarness) async throws -> Timestamp? {
        try await hub.store.registrations(RegistrationQuery(app: .default, state: .live, limit: 10)).items.first?
            .expires
    }

    @Test("The lifetime that a client has read is no wish: the same installation again renews it, and so does a patch")
    func lifetimeOfInstallation() async throws {
        try await HubHarness.run(spec: AppSpec { $0.registrationLifetimeDays = 30 }) { hub in
            #expect(try await hub.call(.put, Self.path, body: "{\(Self.channel)}").status == 200)
            var last = try #require(try await Self.end(hub))
            for method in [HTTPRequest.Method.put, .patch, .put] {
                let read = try await hub.call(.get, Self.path)
                #expect(read.text.contains(last.iso8601), "\(read.text)")
                try await Task.sleep(for: .milliseconds(20))
                let body = method == .put ? read.text : Self.patch
                #expect(try await hub.call(method, Self.path, body: body).status == 200)
                let next = try #require(try await Self.end(hub))
                #expect(next > last, "\(method)")
                last = next
            }
            // As some clients write it.
            let minutes = "\(last.iso8601.prefix(16))Z"
            let body = #"{\#(Self.channel),"expirationTime":"\#(minutes)"}"#
            #expect(try await hub.call(.put, Self.path, body: body).status == 200)
            let renewed = try #require(try await Self.end(hub))
            #expect(renewed >= last)
        }
    }

    @Test("The same of a registration")
    func lifetimeOfRegistration() async throws {
        try await HubHarness.run(spec: AppSpec { $0.registrationLifetimeDays = 30 }) { hub in
            let path = "/default/registrations/1-1-1"
            let first = try await hub.call(.put, path, body: HubHarness.apple())
            let text = try #require(try first.registration.expirationTime)
            let last = try #require(try await Self.end(hub))
            try await Task.sleep(for: .milliseconds(20))
            let body = HubHarness.apple().replacing("<Tags>", with: "<ExpirationTime>\(text)</ExpirationTime><Tags>")
            #expect(try await hub.call(.put, path, body: body).status == 200)
            let renewed = try #require(try await Self.end(hub))
            #expect(renewed > last)
        }
    }

    @Test("A client's own end stays, however often it is given", arguments: [nil, 30])
    func wish(days: Int?) async throws {
        try await HubHarness.run(spec: AppSpec { $0.registrationLifetimeDays = days }) { hub async throws in
            let end = Timestamp.now.advanced(by: .seconds(10 * 86_400))
            let body = #"{\#(Self.channel),"expirationTime":"\#(end.iso8601)"}"#
            for (method, body) in [(HTTPRequest.Method.put, body), (.put, body), (.patch, Self.patch), (.put, body)] {
                #expect(try await hub.call(method, Self.path, body: body).status == 200)
                #expect(try await Self.end(hub) == end, "\(method)")
            }
        }
    }

    @Test("A patch of what is to end at once is none of its end", arguments: [nil, 30])
    func pastEnd(days: Int?) async throws {
        try await HubHarness.run(spec: AppSpec { $0.registrationLifetimeDays = days }) { hub in
            let past = Timestamp.now.advanced(by: .seconds(-60))
            let row = ImportedRegistration(
                pns: .apns,
                handle: try Handle(HubHarness.token, pns: .apns),
                tags: [try WireTags.tag(ofInstallation: "i")],
                expires: past
            )
            _ = try await hub.store.importRegistrations([row], app: .default, sequence: nil, lifetime: nil)
            let patched = try await hub.call(.patch, Self.path, body: Self.patch)
            #expect(patched.status == 200, "\(patched.text)")
            #expect(try await Self.end(hub) == past)
            let wrong = #"[{"op":"replace","path":"/expirationTime","value":"2020-01-01T00:00:00Z"}]"#
            #expect(try await hub.call(.patch, Self.path, body: wrong).status == 400)
        }
    }
}
