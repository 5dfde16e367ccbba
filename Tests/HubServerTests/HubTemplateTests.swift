import HTTPTypes
import HubWire
import PushModel
import Store
import Testing
import Undisturbed

@Suite("Templates through a hub", .undisturbed)
struct HubTemplateTests {
    private static let body = ##"{"aps":{"alert":"$(title)","badge":"#(n)"}}"##

    private static func apple(
        _ token: String = HubHarness.token,
        name: String? = "t",
        tags: String = "",
        body: String = Self.body,
        more: String = ""
    ) -> String {
        """
        <entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml">\
        <AppleTemplateRegistrationDescription xmlns="\(WireNames.connect)"><Tags>\(tags)</Tags>\
        <DeviceToken>\(token)</DeviceToken><BodyTemplate><![CDATA[\(body)]]></BodyTemplate>\(more)\
        \(name.map { "<TemplateName>\($0)</TemplateName>" } ?? "")\
        </AppleTemplateRegistrationDescription></content></entry>
        """
    }

    private static func installation(_ templates: String, tags: String = #"["a"]"#, user: String = "ann") -> String {
        #"{"platform":"apns","pushChannel":"\#(HubHarness.token)","userId":"\#(user)","tags":\#(tags),"templates":\#(templates)}"#
    }

    /// How many registrations of a kind an expression selects.
    private func count(_ hub: HubHarness, _ expression: String, _ kind: RegistrationKind) async throws -> Int {
        try await hub.store.audience(
            AudienceQuery(
                .expression(try WireTags.expression(expression, .folded)),
                app: .default,
                pns: .apns,
                kind: kind,
                through: 1000,
                limit: 100
            )
        ).rows.count
    }

    @Test("A registration gives back what was put, in the order of the wire, and stands apart from native ones")
    func registrations() async throws {
        try await HubHarness.run { hub in
            let path = "/default/registrations/1-1-1"
            let more = """
                <Expiry>$(until)</Expiry><Priority>10</Priority><ApnsHeaders><ApnsHeader><Header>apns-push-type</Header>\
                <Value>alert</Value></ApnsHeader></ApnsHeaders>
                """
            let put = try await hub.call(.put, path, as: "Listen", body: Self.apple(tags: "a", more: more))
            #expect(put.status == 200, "\(put.text)")
            let read = try await hub.call(.get, path, as: "Listen")
            let template = try #require(try read.registration.template)
            #expect(template.body == Self.body && template.name == "t" && template.expiry == "$(until)")
            #expect(template.priority == "10" && template.headers == [.init("apns-push-type", "alert")])
            #expect(read.text.contains("<AppleTemplateRegistrationDescription xmlns=\""))
            #expect(read.text.contains("</BodyTemplate><Expiry>") && read.text.contains("</Priority><ApnsHeaders>"))
            // The same device for native notifications, with a user of its own.
            let native = HubHarness.apple(tags: "a,username:ann")
            #expect(try await hub.call(.put, "/default/registrations/1-1-2", body: native).status == 200)
            #expect(try await hub.call(.get, "/default/registrations").registrations.count == 2)
            #expect(try await hub.call(.get, "/default/tags/a/registrations").registrations.count == 2)
            let filter = "/default/registrations?$filter=ChannelUri+eq+'\(HubHarness.token)'"
            #expect(try await hub.call(.get, filter, as: "Listen").registrations.count == 2)
            for expression in ["a", "!b"] {
                #expect(try await self.count(hub, expression, .native) == 1, "\(expression)")
                #expect(try await self.count(hub, expression, .template) == 1, "\(expression)")
            }
            #expect(try await self.count(hub, "username:ann", .native) == 1)
            #expect(try await self.count(hub, "username:ann", .template) == 0)
            // Another content is another entity tag; the same name is the same registration.
            let other = try await hub.call(.post, "/default/registrations", body: Self.apple(body: #"{"aps":{}}"#))
            #expect(try other.registration.id == "1-1-1" && other.registration.etag != read.registration.etag)
            #expect(try await hub.call(.delete, path, headers: ["If-Match": "*"]).status == 200)
            #expect(try await self.count(hub, "!b", .template) == 0)
            #expect(try await self.count(hub, "!b", .native) == 1)
        }
    }

    @Test("A device has a registration for each name of a template, and so many at most")
    func limit() async throws {
        try await HubHarness.run { hub in
            for number in 0..<20 {
                let put = try await hub.call(.post, "/default/registrations", body: Self.apple(name: "t\(number)"))
                #expect(put.status == 200, "\(put.text)")
            }
            let refused = try await hub.call(.post, "/default/registrations", body: Self.apple(name: "one-more"))
            #expect(refused.status == 400 && refused.text.contains("at most 20"), "\(refused.text)")
            #expect(try await hub.call(.post, "/default/registrations", body: Self.apple(name: "t3")).status == 200)
            #expect(try await self.count(hub, "!b", .template) == 20)
        }
    }

    @Test("An installation's templates have its tags, their own and their name; what it has no more is gone")
    func installations() async throws {
        try await HubHarness.run { hub in
            let path = "/default/installations/i-1"
            let two =
                ##"{"news":{"body":"{\"aps\":{\"alert\":\"$(news)\"}}","tags":["n"],"headers":{},"expiry":"$(e)"},"my name":{"body":"{\"aps\":{\"alert\":\"{'Hi ' + $(who)}\"}}"}}"##
            let put = try await hub.call(.put, path, as: "Listen", body: Self.installation(two))
            #expect(put.status == 200, "\(put.text)")
            let read = try WireInstallation(reading: try await hub.call(.get, path).bytes, id: "i-1")
            #expect(read.tags == ["a"] && read.userID == "ann" && read.templates.map(\.name) == ["my name", "news"])
            let news = try #require(read.templates.last)
            #expect(news.tags.sorted() == ["n", "news"] && news.expiry == "$(e)")
            #expect(news.body == ##"{"aps":{"alert":"$(news)"}}"##)
            for (expression, templates, native) in [
                ("a", 2, 1), ("n", 1, 0), ("$InstallationId:{i-1} && news", 1, 0), ("$UserId:{ann}", 2, 1),
                ("a && !n", 1, 1),
            ] {
                #expect(try await self.count(hub, expression, .template) == templates, "\(expression)")
                #expect(try await self.count(hub, expression, .native) == native, "\(expression)")
            }
            // What was read can be put again, and a change of tags reaches the templates too.
            let patch = #"[{"op":"add","path":"/tags","value":"b"},{"op":"remove","path":"/templates/my name"}]"#
            let patched = try await hub.call(.patch, path, as: "Listen", body: patch)
            #expect(patched.status == 200, "\(patched.text)")
            #expect(try await self.count(hub, "a && b", .template) == 1)
            #expect(try await hub.call(.patch, path, body: #"[{"op":"add","path":"/tags","value":"c"}]"#).status == 200)
            #expect(try await self.count(hub, "c && news", .template) == 1)
            #expect(try await hub.call(.get, "/default/installations").text.contains(#""news":{"body""#))
            #expect(try await hub.call(.put, path, body: Self.installation("{}")).status == 200)
            #expect(try await self.count(hub, "!z", .template) == 0)
            #expect(try await hub.call(.put, path, body: Self.installation(two)).status == 200)
            #expect(try await hub.call(.delete, path).status == 204)
            #expect(try await self.count(hub, "!z", .template) == 0)
        }
    }

    @Test("All templates of an installation may change at once; one that has no room changes nothing")
    func fullInstallations() async throws {
        try await HubHarness.run { hub in
            func all(_ letter: String) -> String {
                let members = (0..<20).map { #""\#(letter)\#($0)":{"body":"{}"}"# }
                return Self.installation("{\(members.joined(separator: ","))}")
            }
            for letter in ["a", "b", "a"] {
                let put = try await hub.call(.put, "/default/installations/i-1", body: all(letter))
                #expect(put.status == 200, "\(put.text)")
                #expect(try await self.count(hub, "!z", .template) == 20)
            }
            let single = try await hub.call(.post, "/default/registrations", body: Self.apple(name: "single"))
            #expect(single.status == 400)
            #expect(try await hub.call(.put, "/default/installations/i-1", body: Self.installation("{}")).status == 200)
            #expect(
                try await hub.call(.post, "/default/registrations", body: Self.apple(name: "single")).status == 200
            )
            let put = try await hub.call(.put, "/default/installations/i-1", body: all("c"))
            #expect(put.status == 400 && put.text.contains("at most 20"), "\(put.text)")
            #expect(try await self.count(hub, "!z", .template) == 1)
        }
    }

    @Test("A device that goes to somebody else loses the templates of its former owner")
    func handover() async throws {
        try await HubHarness.run { hub in
            let one =
                ##"{"t":{"body":"{\"aps\":{\"alert\":\"$(a)\"}}"},"u":{"body":"{\"aps\":{\"alert\":\"$(a)\"}}"}}"##
            let path = "/default/installations/i-1"
            let put = try await hub.call(.put, path, body: Self.installation(one))
            #expect(put.status == 200, "\(put.text)")
            // The same token under another installation, after the app was installed anew.
            let anew = Self.installation(##"{"t":{"body":"{\"aps\":{\"alert\":\"$(b)\"}}"}}"##, user: "bob")
            #expect(try await hub.call(.put, "/default/installations/i-2", body: anew).status == 200)
            #expect(try await self.count(hub, "username:ann", .template) == 0)
            #expect(try await self.count(hub, "username:bob", .template) == 1)
            #expect(try await hub.call(.get, path).status == 404)
            // The same registration with another user.
            let id = "/default/registrations/5-5-5"
            let token = String(repeating: "CD", count: 32)
            #expect(
                try await hub.call(.put, id, body: HubHarness.apple(token, tags: "username:ann")).status == 200
            )
            let template = Self.apple(token, tags: "username:ann,x")
            #expect(try await hub.call(.post, "/default/registrations", body: template).status == 200)
            #expect(try await self.count(hub, "username:ann", .template) == 1)
            #expect(
                try await hub.call(.put, id, body: HubHarness.apple(token, tags: "username:bob")).status == 200
            )
            #expect(try await self.count(hub, "x", .template) == 0)
        }
    }

    @Test("What is no template is 400 that names the place")
    func refusals() async throws {
        try await HubHarness.run { hub in
            for (body, word) in [
                (Self.apple(body: "{"), "JSON"), (Self.apple(body: #"{"a":"$(b"}"#), "a"),
                (Self.apple(body: #"{"a":"\#(String(repeating: "x", count: 20_000))"}"#), "16384"),
                (Self.apple(more: "<Expiry>$(</Expiry>"), "expiry"),
                (Self.apple(more: "<Expiry>soon</Expiry>"), "expiry"),
                (Self.apple(more: "<Priority>300</Priority>"), "priority"),
                (
                    Self.apple(
                        more: "<ApnsHeaders><ApnsHeader><Header>x-a</Header><Value>1</Value></ApnsHeader></ApnsHeaders>"
                    ), "headers.x-a"
                ),
                (Self.apple(name: String(repeating: "n", count: 201)), "TemplateName"),
            ] {
                let answer = try await hub.call(.post, "/default/registrations", body: body)
                #expect(answer.status == 400 && answer.text.contains(word), "\(word): \(answer.text)")
            }
            let many = (0..<21).map { #""t\#($0)":{"body":"{}"}"# }.joined(separator: ",")
            for (templates, word) in [
                (#"{"t":{"body":"{"}}"#, "templates.t.body"), ("{\(many)}", "templates"),
                (#"{"t":{"body":"{}","tags":["username:bob"]}}"#, "templates.t"),
                (#"{"t":{"body":"{}","headers":{"X-WNS-Type":"wns/raw"}}}"#, "templates.t.headers.X-WNS-Type"),
            ] {
                let answer = try await hub.call(
                    .put,
                    "/default/installations/i",
                    body: Self.installation(templates)
                )
                #expect(answer.status == 400 && answer.text.contains(word), "\(word): \(answer.text)")
            }
        }
    }

    @Test("A reserved tag takes a rule that may manage, as the name of a template too")
    func reserved() async throws {
        try await HubHarness.run(spec: AppSpec { $0.reservedTags = ["vip:"] }) { hub in
            for template in [##"{"vip:x":{"body":"{}"}}"##, ##"{"t":{"body":"{}","tags":["vip:x"]}}"##] {
                let body = Self.installation(template)
                let refused = try await hub.call(.put, "/default/installations/i", as: "Listen", body: body)
                #expect(refused.status == 400 && refused.text.contains("reserves"), "\(refused.text)")
                #expect(try await hub.call(.put, "/default/installations/i", body: body).status == 200)
            }
        }
    }

    @Test("A send keeps its properties and headers; telemetry shows them")
    func sends() async throws {
        try await HubHarness.run { hub in
            let headers = ["ServiceBusNotification-Format": "template", "apns-push-type": "alert", "X-WNS-Tag": "x"]
            let properties = #"{"Title":"<&\"'","n":7}"#
            let answer = try await hub.call(
                .post,
                "/default/messages?api-version=2020-06",
                as: "Send",
                body: properties,
                headers: headers.merging(["ServiceBusNotification-Tags": "a && !b"]) { $1 }
            )
            #expect(answer.status == 201, "\(answer.text)")
            let send = try await hub.send(of: answer)
            guard case .template(let content) = send.content else { throw InvalidValue("no template") }
            #expect(content.values == ["title": "<&\"'", "n": "7"] && send.platforms.isEmpty)
            #expect(content.headers.contains(.init("apns-push-type", "alert")))
            let location = try #require(answer.header("Location"))
            let path = try #require(location.firstRange(of: "/default/")).lowerBound
            let details = try WireTelemetry(reading: try await hub.call(.get, String(location[path...])).bytes)
            #expect(details.body == properties)
            for (body, more, word) in [
                (#"{"a":{}}"#, [:], "a"), ("[]", [:], "object"), (#"{"a":"1","A":"2"}"#, [:], "twice"),
                ("{}", ["ServiceBusNotification-DeviceHandle": HubHarness.token], "handle"),
            ] as [(String, [String: String], String)] {
                let refused = try await hub.call(
                    .post,
                    "/default/messages",
                    body: body,
                    headers: headers.merging(more) { $1 }
                )
                #expect(refused.status == 400 && refused.text.contains(word), "\(body): \(refused.text)")
            }
        }
    }
}
