import HTTPTypes
import HubWire
import PushModel
import Testing
import Undisturbed

/// Rows of the contract about devices that each official client stands on, beyond ``HubContractTests``.
@Suite("The contract of a hub: devices, row by row", .undisturbed)
struct HubContractDevicesTests {
    /// A description of each platform, with its elements in the order in which no service writes them.
    private static let descriptions: [(type: String, elements: String, template: String)] = [
        ("Apple", "<DeviceToken>\(HubHarness.token)</DeviceToken>", #"{"aps":{"alert":"$(a)"}}"#),
        ("Gcm", "<GcmRegistrationId>g-1</GcmRegistrationId>", #"{"data":{"a":"$(a)"}}"#),
        ("FcmV1", "<FcmV1RegistrationId>f-1</FcmV1RegistrationId>", #"{"message":{"data":{"a":"$(a)"}}}"#),
        (
            "Windows", "<ChannelUri>https://db5.notify.windows.com/?token=a%2fb</ChannelUri>",
            #"<toast><visual><binding template="ToastText01"><text id="1">$(a)</text></binding></visual></toast>"#
        ),
    ]

    @Test(
        "A description has either spelling, any order, CDATA or text, a declaration or none, and any media type of a client"
    )
    func descriptions() async throws {
        try await HubHarness.run { hub in
            let escapes = [("&", "&amp;"), ("<", "&lt;"), ("\"", "&quot;")]
            var number = 0
            for (type, elements, template) in Self.descriptions {
                let escaped = escapes.reduce(template) { $0.replacing($1.0, with: $1.1) }
                let wns =
                    type == "Windows"
                    ? "<WnsHeaders><WnsHeader><Header>X-WNS-Type</Header><Value>wns/toast</Value></WnsHeader></WnsHeaders>"
                    : ""
                for (content, isTemplate) in [
                    ("<Tags>b, a</Tags>\(elements)", false),
                    (
                        "<TemplateName>t</TemplateName>\(wns)<BodyTemplate><![CDATA[\(template)]]></BodyTemplate>\(elements)<Tags>a</Tags>",
                        true
                    ),
                    (
                        "\(elements)<BodyTemplate>\(escaped)</BodyTemplate><TemplateName>t</TemplateName>\(wns)<Tags>a</Tags>",
                        true
                    ),
                ] {
                    let name = "\(type)\(isTemplate ? "Template" : "")RegistrationDescription"
                    let schema = "xmlns=\"\(WireNames.connect)\" xmlns:i=\"http://www.w3.org/2001/XMLSchema-instance\""
                    for (open, close) in [
                        ("<\(name) \(schema)>", "</\(name)>"),
                        ("<RegistrationDescription i:type=\"\(name)\" \(schema)>", "</RegistrationDescription>"),
                    ] {
                        number += 1
                        let types = [
                            "application/xml", "application/atom+xml;type=entry;charset=utf-8",
                            "application/atom+xml; charset=UTF-8",
                        ]
                        let declaration = number.isMultiple(of: 2) ? "<?xml version=\"1.0\" encoding=\"utf-8\"?>" : ""
                        let body =
                            "\(declaration)<entry xmlns=\"http://www.w3.org/2005/Atom\"><content type=\"text/xml\">\(open)\(content)\(close)</content></entry>"
                        let answer = try await hub.call(
                            .put,
                            "/default/registrations/9-9-\(isTemplate ? 1 : 2)?api-version=2020-06",
                            as: "Listen",
                            body: body,
                            headers: ["Content-Type": types[number % 3]]
                        )
                        #expect(answer.status == 200, "\(name): \(answer.text)")
                        #expect(answer.text.contains("<\(name) xmlns=\"\(WireNames.connect)\""), "\(answer.text)")
                        let registration = try answer.registration
                        #expect(registration.tags.sorted() == (isTemplate ? ["a"] : ["a", "b"]))
                        #expect(registration.template?.body == (isTemplate ? template : nil))
                    }
                }
            }
        }
    }

    @Test(
        "The legacy client for iOS: its paths, media type, filter and conditions, from the first id to a deletion that repeats"
    )
    func legacyIOS() async throws {
        try await HubHarness.run { hub in
            let version = "api-version=2013-04"
            let issued = try await hub.call(.post, "/default/registrationids/?\(version)", as: "Listen")
            let location = try #require(issued.header("Location"))
            let id = try #require(location.prefix { $0 != "?" }.split(separator: "/").last)
            let path = "/default/Registrations/\(id)?\(version)"
            let xml = ["Content-Type": "application/xml"]
            let put = try await hub.call(.put, path, as: "Listen", body: HubHarness.apple(tags: "a,b"), headers: xml)
            #expect(put.status == 200 && put.header("Content-Type") == WireNames.entry, "\(put.text)")
            let etag = try #require(put.header("ETag")).dropFirst(2)
            let again = try await hub.call(
                .put,
                path,
                as: "Listen",
                body: HubHarness.apple(tags: "a"),
                headers: xml.merging(["If-Match": String(etag)]) { $1 }
            )
            #expect(again.status == 200, "\(again.text)")
            let filter = "/default/Registrations/?$filter=deviceToken+eq+'\(HubHarness.token)'&\(version)"
            let list = try await hub.call(.get, filter, as: "Listen")
            #expect(try list.registrations.map(\.id) == [String(id)])
            for status in [200, 404, 404] {
                let answer = try await hub.call(.delete, path, as: "Listen", headers: ["If-Match": "*"])
                #expect(answer.status == status)
            }
            #expect(try await hub.call(.get, filter, as: "Listen").registrations.isEmpty)
        }
    }

    // MARK: Installations

    @Test(
        "A change of an installation is 200 in either media type, its values are texts, and a tag is a part of a path"
    )
    func patches() async throws {
        try await HubHarness.run { hub in
            let path = "/default/Installations/i-1/?api-version=2020-06"
            let put = #"{"platform":"apns","pushChannel":"\#(HubHarness.token)","tags":["a"]}"#
            #expect(try await hub.call(.put, path, body: put).status == 200)
            let template = JSONValue.string(#"{"body":"{\"aps\":{\"alert\":\"$(x)\"}}"}"#).compactText
            for (type, patch) in [
                ("application/json-patch+json", #"[{"op":"add","path":"/tags","value":"b"}]"#),
                ("application/json", ##"[{"op":"add","path":"/tags","value":"[\"c\",\"d\"]"}]"##),
                ("application/json-patch+json; charset=utf-8", #"[{"op":"remove","path":"/tags/a"}]"#),
                ("application/json", #"[{"op":"add","path":"/templates/my name","value":\#(template)}]"#),
                ("application/json", #"[{"op":"replace","path":"/userId","value":"ann"}]"#),
            ] {
                let answer = try await hub.call(
                    .patch,
                    path,
                    as: "Listen",
                    body: patch,
                    headers: ["Content-Type": type]
                )
                #expect(answer.status == 200 && answer.bytes.isEmpty, "\(patch): \(answer.text)")
            }
            let read = try WireInstallation(reading: try await hub.call(.get, path).bytes, id: "i-1")
            #expect(read.tags == ["b", "c", "d"] && read.userID == "ann" && read.templates.map(\.name) == ["my name"])
            // What an installation is made of: the system's tags come first.
            let listed = try await hub.call(.get, "/default/registrations").registrations
            #expect(listed.count == 2)
            #expect(
                listed.allSatisfy { $0.tags.starts(with: ["$InstallationId:{i-1}", "$UserId:{ann}"]) },
                "\(listed)"
            )
        }
    }

    @Test("Changes of one installation that come at once are all made")
    func changesAtOnce() async throws {
        try await HubHarness.run { hub in
            let path = "/default/installations/i-1"
            for templates in [#"{"t":{"body":"{}"}}"#, "{}"] {
                let put =
                    #"{"platform":"apns","pushChannel":"\#(HubHarness.token)","tags":["z"],"templates":\#(templates)}"#
                #expect(try await hub.call(.put, path, body: put).status == 200)
                // Of tags alone, and of something else: where there is no template, each of them is made in its own way.
                let patches =
                    (0..<4).map { #"[{"op":"add","path":"/tags","value":"t\#($0)"}]"# } + [
                        #"[{"op":"replace","path":"/userId","value":"ann"}]"#,
                        #"[{"op":"add","path":"/templates/u","value":"{\"body\":\"{}\"}"}]"#,
                    ]
                let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                    for patch in patches { group.addTask { try await hub.call(.patch, path, body: patch).status } }
                    return try await group.reduce(into: [Int]()) { $0.append($1) }
                }
                #expect(statuses == Array(repeating: 200, count: patches.count))
                let read = try WireInstallation(reading: try await hub.call(.get, path).bytes, id: "i-1")
                #expect(read.tags.sorted() == ["t0", "t1", "t2", "t3", "z"] && read.userID == "ann", "\(read)")
                #expect(read.templates.contains { $0.name == "u" })
            }
        }
    }
}
