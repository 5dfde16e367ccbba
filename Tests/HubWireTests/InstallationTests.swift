import HubWire
import PushModel
import Testing

@Suite("Installations on the wire")
struct InstallationTests {
    private func read(_ text: String, id: String = "i-1") throws -> WireInstallation {
        try WireInstallation(reading: Array(text.utf8), id: id)
    }

    @Test("What each client writes is read: nulls, an empty object of headers, a browser's object")
    func reading() throws {
        let net = try self.read(
            #"{"installationId":"i-1","userId":null,"expirationTime":null,"pushChannelExpired":null,"pushChannel":"AB","platform":"apns","tags":["a","b"],"templates":null}"#
        )
        #expect(net.platform == .apple && net.pushChannel == "AB" && net.tags == ["a", "b"] && net.userID == nil)
        let ios = try self.read(
            #"{"installationId":"i-1","platform":"apns","pushChannel":"AB","expirationTime":"2026-02-19T07:08+0000","templates":{"t":{"body":"{}","headers":{},"tags":["x"]}}}"#
        )
        #expect(
            ios.templates.map(\.name) == ["t"] && ios.templates[0].tags == ["x"] && ios.templates[0].headers.isEmpty
        )
        let browser = try self.read(
            #"{"installationId":"i-1","platform":"browser","pushChannel":{"endpoint":"e","p256dh":"p","auth":"a"}}"#
        )
        #expect(browser.pushChannel == #"{"endpoint":"e","p256dh":"p","auth":"a"}"#)
        for (name, platform) in [
            ("fcmV1", WirePlatform.fcmV1), ("FCMV1", .fcmV1), ("fcmv1", .fcmV1), ("gcm", .gcm), ("WNS", .windows),
        ] {
            #expect(try self.read(#"{"platform":"\#(name)","pushChannel":"x"}"#).platform == platform)
        }
    }

    @Test(
        "A wrong installation is refused by its member",
        arguments: [
            ("[]", ""), ("{", ""), (#"{"platform":"apns"}"#, "pushChannel"), (#"{"pushChannel":"x"}"#, "platform"),
            (#"{"platform":"fcm","pushChannel":"x"}"#, "platform"),
            (#"{"platform":"apns","pushChannel":7}"#, "pushChannel"),
            (#"{"installationId":"other","platform":"apns","pushChannel":"x"}"#, "installationId"),
            (#"{"platform":"apns","pushChannel":"x","tags":"a"}"#, "tags"),
            (#"{"platform":"apns","pushChannel":"x","tags":[1]}"#, "tags"),
            (#"{"platform":"apns","pushChannel":"x","pushChannel":"y"}"#, "pushChannel"),
            (#"{"platform":"apns","pushChannel":"x","templates":{"t":{}}}"#, "templates.t.body"),
            (
                #"{"platform":"apns","pushChannel":"x","templates":{"t":{"body":"{}","headers":{"a":1}}}}"#,
                "templates.t.headers.a"
            ),
            (#"{"platform":"apns","pushChannel":"x","pushVariables":{"a":{}}}"#, "pushVariables.a"),
        ]
    )
    func wrong(text: String, member: String) {
        let fault = #expect(throws: InvalidValue.self) { try self.read(text) }
        #expect(fault?.member == member)
    }

    @Test("What is written is read back")
    func roundTrip() throws {
        var installation = WireInstallation(id: "i-1", platform: .windows, pushChannel: "https://x")
        installation.userID = "ann"
        installation.tags = ["a"]
        installation.expirationTime = "2027-01-01T00:00:00Z"
        var template = WireInstallation.Template(name: "t", body: "<toast/>")
        template.headers = [.init("X-WNS-Type", "wns/toast")]
        template.tags = ["t"]
        installation.templates = [template]
        installation.pushVariables = [.init(name: "v", value: "\"")]
        #expect(try WireInstallation(reading: installation.json.bytes, id: "i-1") == installation)
    }

    @Test("A patch adds, removes and replaces, by texts and by paths of tags")
    func patches() throws {
        var installation = try self.read(#"{"platform":"apns","pushChannel":"AB","tags":["a","B"]}"#)
        let patch = try InstallationPatch(
            reading: Array(
                #"""
                [{"op":"add","path":"/tags","value":"c"},{"op":"add","path":"/tags","value":"[\"d\",\"e\"]"},
                 {"op":"remove","path":"/tags/b"},{"op":"replace","path":"/pushChannel","value":"CD"},
                 {"op":"add","path":"/userId","value":"ann"},{"op":"add","path":"/templates/t","value":"{\"body\":\"{}\"}"},
                 {"op":"replace","path":"/templates/t/body","value":"{\"a\":1}"},{"op":"add","path":"/templates/t/tags","value":"x"},
                 {"op":"add","path":"/pushVariables/v~1w","value":"1"}]
                """#.utf8
            )
        )
        #expect(patch.tagsAlone == nil)
        try patch.apply(to: &installation)
        #expect(
            installation.tags == ["a", "c", "d", "e"] && installation.pushChannel == "CD"
                && installation.userID == "ann"
        )
        #expect(installation.templates.map(\.body) == [#"{"a":1}"#] && installation.templates[0].tags == ["x"])
        #expect(installation.pushVariables == [.init(name: "v/w", value: "1")])
        try InstallationPatch(
            reading: Array(#"[{"op":"remove","path":"/templates/t"},{"op":"remove","path":"/userId"}]"#.utf8)
        )
        .apply(to: &installation)
        #expect(installation.templates.isEmpty && installation.userID == nil)
    }

    @Test("A patch of tags alone is told from others")
    func tagsAlone() throws {
        let plain = try InstallationPatch(
            reading: Array(#"[{"op":"add","path":"/tags","value":"a"},{"op":"remove","path":"/tags/b"}]"#.utf8)
        )
        #expect(plain.tagsAlone?.added == ["a"] && plain.tagsAlone?.removed == ["b"])
        for text in [
            #"[{"op":"add","path":"/tags","value":"a"},{"op":"remove","path":"/tags/A"}]"#,
            #"[{"op":"replace","path":"/tags","value":"a"}]"#, #"[{"op":"add","path":"/userId","value":"a"}]"#,
        ] { #expect(try InstallationPatch(reading: Array(text.utf8)).tagsAlone == nil, "\(text)") }
    }

    @Test(
        "Malformed and hostile patches are refused",
        arguments: [
            "", "{}", "[1]", "[{}]", #"[{"op":"move","path":"/tags","from":"/x"}]"#,
            #"[{"op":"test","path":"/tags","value":"x"}]"#,
            #"[{"op":"add","path":"tags","value":"x"}]"#, #"[{"op":"add","path":"/tags"}]"#,
            #"[{"op":"add","path":"/","value":"x"}]"#,
            #"[{"op":"add","path":"/installationId","value":"x"}]"#, #"[{"op":"remove","path":"/pushChannel"}]"#,
            #"[{"op":"add","path":"/templates/t","value":"no json"}]"#,
            #"[{"op":"add","path":"/templates/t/body","value":"x"}]"#,
            #"[{"op":"add","path":"/templates/t/a/b/c","value":"x"}]"#,
            #"[{"op":"add","path":"/platform","value":"wns"}]"#,
            #"[{"op":"add","op":"add","path":"/tags","value":"x"}]"#, String(repeating: "[", count: 10_000),
        ]
    )
    func malformed(text: String) throws {
        var installation = try self.read(#"{"platform":"apns","pushChannel":"AB"}"#)
        #expect(throws: InvalidValue.self) {
            try InstallationPatch(reading: Array(text.utf8)).apply(to: &installation)
        }
    }

    @Test("A patch of thousands of steps is refused")
    func long() {
        let steps = Array(repeating: #"{"op":"add","path":"/tags","value":"x"}"#, count: 5000).joined(separator: ",")
        #expect(throws: InvalidValue.self) { try InstallationPatch(reading: Array("[\(steps)]".utf8)) }
    }
}
