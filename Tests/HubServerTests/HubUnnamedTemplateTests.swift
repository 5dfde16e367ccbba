import HTTPTypes
import HubWire
import PushModel
import Store
import Testing
import Undisturbed

/// The official client for Java has no name to give a template.
@Suite("Templates without a name", .undisturbed)
struct HubUnnamedTemplateTests {
    private static func apple(
        _ alert: String,
        headers: [(String, String)] = [],
        expiry: String? = nil,
        tags: String = "a"
    ) -> String {
        let list = headers.map { "<ApnsHeader><Header>\($0.0)</Header><Value>\($0.1)</Value></ApnsHeader>" }.joined()
        return """
            <entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml">\
            <AppleTemplateRegistrationDescription xmlns="\(WireNames.connect)"><Tags>\(tags)</Tags>\
            <DeviceToken>\(HubHarness.token)</DeviceToken>\
            <BodyTemplate><![CDATA[{"aps":{"alert":"\(alert)"}}]]></BodyTemplate>\
            \(expiry.map { "<Expiry>\($0)</Expiry>" } ?? "")<ApnsHeaders>\(list)</ApnsHeaders>\
            </AppleTemplateRegistrationDescription></content></entry>
            """
    }

    private static func create(_ hub: HubHarness, _ body: String) async throws -> String {
        let answer = try await hub.call(.post, "/default/registrations", as: "Listen", body: body)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(try answer.registration.template?.name == nil, "\(answer.text)")
        return try #require(try answer.registration.id)
    }

    @Test("Two of one device are two, told apart by body and headers; the same again is the same registration")
    func two() async throws {
        try await HubHarness.run { hub in
            let first = try await Self.create(hub, Self.apple("$(a)"))
            let second = try await Self.create(hub, Self.apple("$(b)"))
            let third = try await Self.create(hub, Self.apple("$(b)", headers: [("apns-priority", "5")]))
            #expect(Set([first, second, third]).count == 3)
            let bodies = try await hub.call(.get, "/default/registrations").registrations.map { $0.template?.body }
            #expect(
                bodies == [
                    #"{"aps":{"alert":"$(a)"}}"#, #"{"aps":{"alert":"$(b)"}}"#, #"{"aps":{"alert":"$(b)"}}"#,
                ]
            )
            // Tags and the rest are what it says, and not what it is.
            #expect(try await Self.create(hub, Self.apple("$(a)", expiry: "$(e)", tags: "b")) == first)
            #expect(try await Self.create(hub, Self.apple("$(b)", headers: [("APNS-Priority", "5")])) == third)
            // One that has a name is another, whatever its name.
            let named = Self.apple("$(a)").replacing(
                "<ApnsHeaders>",
                with: "<TemplateName>n</TemplateName><ApnsHeaders>"
            )
            let answer = try await hub.call(.post, "/default/registrations", body: named)
            #expect(try answer.registration.id != first && answer.registration.template?.name == "n")
            #expect(try await hub.call(.get, "/default/registrations").registrations.count == 4)
        }
    }

    @Test("They count to the twenty; one that is put under its id with another body needs no room")
    func limit() async throws {
        try await HubHarness.run { hub in
            var ids: [String] = []
            for number in 0..<20 { ids.append(try await Self.create(hub, Self.apple("$(a\(number))"))) }
            #expect(Set(ids).count == 20)
            let refused = try await hub.call(.post, "/default/registrations", body: Self.apple("$(more)"))
            #expect(refused.status == 400 && refused.text.contains("at most 20"), "\(refused.text)")
            let path = "/default/registrations/\(ids[7])"
            let put = try await hub.call(.put, path, body: Self.apple("$(more)"))
            #expect(put.status == 200, "\(put.text)")
            #expect(try await Self.create(hub, Self.apple("$(more)")) == ids[7])
            // Its former body has no registration any more, and the device no room for it.
            #expect(try await hub.call(.post, "/default/registrations", body: Self.apple("$(a7)")).status == 400)
            #expect(try await hub.call(.delete, path, headers: ["If-Match": "*"]).status == 200)
            #expect(try await hub.call(.post, "/default/registrations", body: Self.apple("$(a7)")).status == 200)
            #expect(try await hub.call(.get, "/default/registrations").registrations.count == 20)
        }
    }
}
