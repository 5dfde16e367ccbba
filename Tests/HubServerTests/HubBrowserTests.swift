import HTTPTypes
import HubWire
import PushModel
import Store
import Testing
import Undisturbed

@Suite("Browsers of a hub", .undisturbed)
struct HubBrowserTests {
    private static let endpoint = "https://fcm.googleapis.com/fcm/send/abc:APA91"
    /// The browser of RFC 8291, appendix A.
    private static let key = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    private static let secret = "BTBZMqHH6r4Tts7J_aSIgg"
    private static let channel = #"{"endpoint":"\#(endpoint)","p256dh":"\#(key)","auth":"\#(secret)"}"#

    /// In the order in which the client for JavaScript writes it.
    private static func description(_ key: String = Self.key) -> String {
        """
        <entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml">\
        <BrowserRegistrationDescription xmlns="\(WireNames.connect)"><Tags>a</Tags><Endpoint>\(Self.endpoint)</Endpoint>\
        <Auth>\(Self.secret)</Auth><P256DH>\(key)</P256DH></BrowserRegistrationDescription></content></entry>
        """
    }

    @Test("A registration has its three parts in the order of the wire, and is found by them")
    func registrations() async throws {
        try await HubHarness.run { hub in
            let put = try await hub.call(.put, "/default/registrations/1-2-3", as: "Listen", body: Self.description())
            #expect(put.status == 200, "\(put.text)")
            let read = try await hub.call(.get, "/default/registrations/1-2-3", as: "Listen")
            #expect(try read.registration.platform == .browser)
            #expect(try read.registration.handle == [Self.endpoint, Self.key, Self.secret])
            #expect(read.text.contains("</Endpoint><P256DH>") && read.text.contains("</P256DH><Auth>"))
            let encoded = PercentCoding.encode(Self.endpoint)
            for endpoint in [Self.endpoint, encoded] {
                let filter = "Endpoint eq '\(endpoint)' and P256DH eq '\(Self.key)' and Auth eq '\(Self.secret)'"
                let path = "/default/registrations?$filter=\(PercentCoding.encode(filter))"
                #expect(try await hub.call(.get, path, as: "Listen").registrations.map(\.id) == ["1-2-3"])
            }
            let id = try #require(RegistrationID("1-2-3"))
            let stored = try #require(try await hub.store.registration(id, app: .default))
            #expect(stored.pns == .web)
            let wrong = try await hub.call(.put, "/default/registrations/1-2-4", body: Self.description("AAAA"))
            #expect(wrong.status == 400 && wrong.text.contains("p256dh"), "\(wrong.text)")
        }
    }

    @Test("An installation's channel is an object or its text")
    func installations() async throws {
        try await HubHarness.run { hub in
            let path = "/default/installations/b-1"
            let text = JSONValue.string(Self.channel).compactText
            for channel in [Self.channel, text] {
                let body = #"{"platform":"Browser","pushChannel":\#(channel),"tags":["a"]}"#
                let put = try await hub.call(.put, path, as: "Listen", body: body)
                #expect(put.status == 200, "\(put.text)")
                let read = try WireInstallation(reading: try await hub.call(.get, path).bytes, id: "b-1")
                #expect(read.platform == .browser && read.pushChannel == Self.channel)
            }
            let patch = #"[{"op":"replace","path":"/userId","value":"ann"}]"#
            #expect(try await hub.call(.patch, path, body: patch).status == 200)
            #expect(try await hub.call(.get, path).text.contains(#""userId":"ann""#))
            let local = #"{"endpoint":"https://127.0.0.1/","p256dh":"\#(Self.key)","auth":"\#(Self.secret)"}"#
            for (channel, word) in [(#""x""#, "pushChannel: "), (local, "pushChannel: ")] {
                let body = #"{"platform":"browser","pushChannel":\#(channel)}"#
                let answer = try await hub.call(.put, "/default/installations/b-2", body: body)
                #expect(answer.status == 400 && answer.text.contains(word), "\(answer.text)")
            }
        }
    }

    @Test(
        "A browser is its endpoint: one that comes with other keys is the same registration, or takes the place of another"
    )
    func otherKeys() async throws {
        let other = "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"
        try await HubHarness.run { hub in
            let put = try await hub.call(.put, "/default/registrations/1-2-3", as: "Listen", body: Self.description())
            #expect(put.status == 200, "\(put.text)")
            let again = try await hub.call(.post, "/default/registrations", as: "Listen", body: Self.description(other))
            #expect(try again.registration.id == "1-2-3")
            let read = try await hub.call(.get, "/default/registrations/1-2-3", as: "Listen")
            #expect(try read.registration.handle == [Self.endpoint, other, Self.secret], "\(read.text)")
            let own = try await hub.call(.put, "/default/registrations/1-2-4", as: "Listen", body: Self.description())
            #expect(own.status == 200, "\(own.text)")
            let all = try await hub.call(.get, "/default/registrations").registrations
            #expect(all.map(\.id) == ["1-2-4"])
            #expect(try await hub.call(.get, "/default/registrations/1-2-3", as: "Listen").status == 404)
        }
    }

    @Test("A native send goes to browsers alone; a direct one has the handle in a header of each part")
    func sends() async throws {
        try await HubHarness.run { hub in
            let payload = #"{"title":"Hello","body":"you"}"#
            let format = ["ServiceBusNotification-Format": "browser", "Content-Type": "application/json"]
            let all = try await hub.send(
                of: try await hub.call(.post, "/default/messages", body: payload, headers: format)
            )
            guard case .native(let native) = all.content else { throw InvalidValue("no native payload") }
            #expect(all.platforms == [.web] && native[.web].map { String(decoding: $0.body, as: UTF8.self) } == payload)
            let parts = [
                "ServiceBusNotification-DeviceHandle": Self.endpoint, "P256DH": Self.key, "Auth": Self.secret,
            ]
            for headers in [parts, ["ServiceBusNotification-DeviceHandle": Self.channel]] {
                let direct = try await hub.call(
                    .post,
                    "/default/messages?direct",
                    body: payload,
                    headers: format.merging(headers) { $1 }
                )
                #expect(direct.status == 201, "\(direct.text)")
                guard case .list = try await hub.send(of: direct).audience else { throw InvalidValue("no list") }
            }
            let alone = try await hub.call(
                .post,
                "/default/messages?direct",
                body: payload,
                headers: format.merging(["ServiceBusNotification-DeviceHandle": Self.endpoint]) { $1 }
            )
            #expect(alone.status == 400 && alone.text.contains("p256dh"), "\(alone.text)")
            let text = try await hub.call(.post, "/default/messages", body: "Hello", headers: format)
            #expect(text.status == 400)
        }
    }

    @Test("A batch goes to several browsers, each with its three parts in one handle; one without its keys is refused")
    func batches() async throws {
        let other = Self.channel.replacing("abc:APA91", with: "def:APA91")
        try await HubHarness.run { hub in
            func send(_ handles: [String]) async throws -> HubHarness.Answer {
                let body = DirectSendBody(
                    notification: Array(#"{"title":"Hello"}"#.utf8),
                    type: "application/json",
                    handles: handles
                )
                return try await hub.call(
                    .post,
                    "/default/messages/$batch?direct",
                    body: String(decoding: body.bytes(boundary: body.boundary), as: UTF8.self),
                    headers: [
                        "ServiceBusNotification-Format": "browser",
                        "Content-Type": "multipart/mixed; boundary=\"\(body.boundary)\"",
                    ]
                )
            }
            let batch = try await send([Self.channel, other, Self.channel])
            #expect(batch.status == 201, "\(batch.text)")
            let request = try await hub.send(of: batch)
            #expect(request.platforms == [.web])
            #expect(request.audience == .list(RecipientCount(kind: .handles, given: 3, count: 2)))
            let alone = try await send([Self.channel, Self.endpoint])
            #expect(alone.status == 400 && alone.text.contains("p256dh"), "\(alone.text)")
        }
    }
}
