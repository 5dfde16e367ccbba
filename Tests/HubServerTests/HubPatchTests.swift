import HTTPTypes
import HubWire
import PushModel
import Testing
import Undisturbed

/// A patch means what RFC 6902 says, or is refused; besides, a tag has a path by its name, as at the original.
@Suite("Patches of installations through a hub", .undisturbed)
struct HubPatchTests {
    private static let path = "/default/installations/i-1"

    private static func put(_ hub: HubHarness, tags: String = #"["a","b","c"]"#, templates: String = "{}") async throws
    {
        let body =
            #"{"platform":"apns","pushChannel":"\#(HubHarness.token)","userId":"ann","tags":\#(tags),"templates":\#(templates)}"#
        let put = try await hub.call(.put, Self.path, body: body)
        #expect(put.status == 200, "\(put.text)")
    }

    private static func read(_ hub: HubHarness) async throws -> WireInstallation {
        try WireInstallation(reading: try await hub.call(.get, Self.path).bytes, id: "i-1")
    }

    @Test("Places of the array of tags are those of RFC 6902")
    func places() async throws {
        try await HubHarness.run { hub in
            for templates in ["{}", #"{"t":{"body":"{\"aps\":{}}"}}"#] {
                for (steps, tags) in [
                    (#"{"op":"add","path":"/tags/-","value":"x"}"#, ["a", "b", "c", "x"]),
                    (#"{"op":"add","path":"/tags/0","value":"x"}"#, ["a", "b", "c", "x"]),
                    (#"{"op":"add","path":"/tags/3","value":"x"}"#, ["a", "b", "c", "x"]),
                    (#"{"op":"replace","path":"/tags/0","value":"x"}"#, ["b", "c", "x"]),
                    (#"{"op":"replace","path":"/tags/2","value":"x"}"#, ["a", "b", "x"]),
                    (
                        #"{"op":"add","path":"/tags/0","value":"x"},{"op":"replace","path":"/tags/1","value":"y"}"#,
                        ["b", "c", "x", "y"]
                    ),
                    // A tag by its name, of which a number may be one.
                    (#"{"op":"remove","path":"/tags/b"}"#, ["a", "c"]),
                    (#"{"op":"add","path":"/tags/-","value":"0"},{"op":"remove","path":"/tags/0"}"#, ["a", "b", "c"]),
                    (#"{"op":"add","path":"/tags/x","value":"x"}"#, ["a", "b", "c", "x"]),
                    (#"{"op":"replace","path":"/tags","value":"[\"x\",\"y\"]"}"#, ["x", "y"]),
                    (#"{"op":"remove","path":"/tags"}"#, []),
                ] {
                    try await Self.put(hub, templates: templates)
                    let patch = try await hub.call(.patch, Self.path, as: "Listen", body: "[\(steps)]")
                    #expect(patch.status == 200, "\(steps): \(patch.text)")
                    #expect(try await Self.read(hub).tags.sorted() == tags, "\(steps)")
                }
            }
        }
    }

    @Test("What would lose a value is 400, and changes nothing")
    func refusals() async throws {
        try await HubHarness.run { hub in
            let template = #"{"t":{"body":"{\"aps\":{}}","tags":["u"]}}"#
            try await Self.put(hub, templates: template)
            let before = try await hub.call(.get, Self.path).text
            for (step, place) in [
                (#"{"op":"add","path":"/tags/4","value":"x"}"#, "/tags/4"),
                (#"{"op":"add","path":"/tags/01","value":"x"}"#, "/tags/01"),
                (#"{"op":"replace","path":"/tags/3","value":"x"}"#, "/tags/3"),
                (#"{"op":"replace","path":"/tags/-","value":"x"}"#, "/tags/-"),
                (#"{"op":"add","path":"/tags/x","value":"y"}"#, "/tags/x"),
                (#"{"op":"replace","path":"/tags/a","value":"x"}"#, "/tags/a"),
                (#"{"op":"remove","path":"/tags","value":"a"}"#, "/tags"),
                (#"{"op":"add","path":"/tags/-","value":["x","y"]}"#, "Tags"),
                (#"{"op":"add","path":"/tags/0/x","value":"x"}"#, "/tags/0/x"),
                (#"{"op":"add","path":"/templates/t/tags/x","value":"y"}"#, "/templates/t/tags/x"),
                (#"{"op":"replace","path":"/templates/t/tags/9","value":"y"}"#, "/templates/t/tags/9"),
                (#"{"op":"remove","path":"/templates/t/tags","value":"u"}"#, "/templates/t/tags"),
                (#"{"op":"replace","path":"/tags","value":null}"#, "value"),
            ] {
                let answer = try await hub.call(.patch, Self.path, as: "Listen", body: "[\(step)]")
                #expect(answer.status == 400 && answer.text.contains(place), "\(step): \(answer.status) \(answer.text)")
            }
            #expect(try await hub.call(.get, Self.path).text == before)
            let patch =
                #"[{"op":"add","path":"/templates/t/tags/-","value":"v"},{"op":"replace","path":"/templates/t/tags/0","value":"w"}]"#
            let patched = try await hub.call(.patch, Self.path, body: patch)
            #expect(patched.status == 200, "\(patched.text)")
            let tags = try await Self.read(hub).templates.first?.tags ?? []
            #expect(tags.contains("v") && tags.contains("w"), "\(tags)")
        }
    }

    @Test("An empty user signs out, as null does", arguments: ["\"\"", "null"])
    func signingOut(value: String) async throws {
        try await HubHarness.run { hub in
            for operation in ["add", "replace"] {
                try await Self.put(hub)
                let patch = #"[{"op":"\#(operation)","path":"/userId","value":\#(value)}]"#
                let patched = try await hub.call(.patch, Self.path, as: "Listen", body: patch)
                #expect(patched.status == 200, "\(patched.text)")
                #expect(try await Self.read(hub).userID == nil)
            }
            let body = #"{"platform":"apns","pushChannel":"\#(HubHarness.token)","userId":\#(value)}"#
            try await Self.put(hub)
            #expect(try await hub.call(.put, Self.path, body: body).status == 200)
            #expect(try await Self.read(hub).userID == nil)
        }
    }

    @Test("The place of an error stands in it once")
    func places400() async throws {
        try await HubHarness.run { hub in
            try await Self.put(hub, templates: #"{"t":{"body":"{\"aps\":{}}"}}"#)
            var details: [String] = []
            let long = String(repeating: "x", count: 130)
            for (method, path, body) in [
                (HTTPRequest.Method.patch, Self.path, #"[{"op":"add","path":"/templates/t/body","value":"{"}]"#),
                (.patch, Self.path, #"[{"op":"add","path":"/templates/t","value":"{\"body\":7}"}]"#),
                (.patch, Self.path, #"[{"op":"add","path":"/templates/t","value":"{\"body\":\"{\"}"}]"#),
                (.patch, Self.path, #"[{"op":"add","path":"/templates/t","value":"7"}]"#),
                (.patch, Self.path, #"[{"op":"add","path":"/templates/t/headers","value":"{\"x\":1}"}]"#),
                (.patch, Self.path, #"[{"op":"add","path":"/templates/t/headers","value":"{\"x\":\"1\"}"}]"#),
                (.patch, Self.path, #"[{"op":"add","path":"/templates/t/expiry","value":"soon"}]"#),
                (.patch, Self.path, #"[{"op":"add","path":"/templates/t/tags","value":"a b"}]"#),
                (.patch, Self.path, #"[{"op":"add","path":"/pushChannel","value":"xyz"}]"#),
                (.patch, Self.path, #"[{"op":"add","path":"/userId","value":"a\u0007b"}]"#),
                (.patch, Self.path, #"[{"op":"add","path":"/tags","value":"a b"}]"#),
                (.patch, Self.path, #"[{"op":"add","path":"/expirationTime","value":"soon"}]"#),
                (.patch, Self.path, #"[{"op":"add","path":"/pushVariables","value":"7"}]"#),
                (.patch, Self.path, #"[{"op":"add","path":"/pushVariables","value":"{\"x\":7}"}]"#),
                (.put, Self.path, #"{"platform":"apns","pushChannel":"xyz"}"#),
                (.put, Self.path, #"{"platform":"apns","pushChannel":"ab","templates":{"t":{"body":"{"}}}"#),
                (
                    .put, Self.path,
                    #"{"platform":"apns","pushChannel":"ab","templates":{"t":{"body":"{}","tags":["a b"]}}}"#
                ),
                (.put, Self.path, #"{"platform":"browser","pushChannel":"{\"endpoint\":7}"}"#),
                (.put, "/default/installations/\(long)", #"{"platform":"apns","pushChannel":"ab"}"#),
                (.post, "/default/registrations", HubHarness.apple("xyz")),
                (.post, "/default/registrations", HubHarness.apple(tags: "a b")),
                (.post, "/default/registrations", HubHarness.apple(tags: "$x")),
                (.get, "/default/registrations?$filter=x", nil),
                (.get, "/default/registrations?$filter=ChannelUri+eq+'%7B'", nil),
                (.get, "/default/tags/a%20b/registrations", nil),
            ] as [(HTTPRequest.Method, String, String?)] {
                let answer = try await hub.call(method, path, body: body)
                let detail = try #require(try answer.element("Detail"))
                #expect(answer.status == 400, "\(path) \(body ?? ""): \(answer.status) \(detail)")
                details.append(
                    String(detail[..<(detail.firstRange(of: ".TrackingId:")?.lowerBound ?? detail.endIndex)])
                )
            }
            for format in ["apple", "template"] {
                for headers in [
                    ["ServiceBusNotification-Tags": "a b"], ["ServiceBusNotification-DeviceHandle": "xyz"],
                    ["apns-priority": "x"],
                ] {
                    let headers = headers.merging(["ServiceBusNotification-Format": format]) { $1 }
                    let answer = try await hub.call(.post, "/default/messages", body: "{\"aps\":7}", headers: headers)
                    if answer.status == 400 { details.append(try #require(try answer.element("Detail"))) }
                }
            }
            for detail in details {
                // What stands before the words of the reason is the place.
                let place = detail.prefix { $0 != " " }
                guard place.hasSuffix(":") else { continue }
                let words = place.lowercased().dropLast().split { "./".contains($0) }
                #expect(Set(words).count == words.count && detail.ranges(of: place).count == 1, "\(detail)")
            }
            #expect(details.count { $0.hasPrefix("templates.t.body: ") } == 4, "\(details)")
        }
    }
}
