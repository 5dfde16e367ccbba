import HubWire
import PushModel
import Testing

@Suite("Registrations on the wire")
struct WireRegistrationTests {
    private static let connect = "http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"
    private let place = WireRegistration.Place(
        address: "https://h/default/registrations/1-2-3?api-version=2020-06",
        updated: Timestamp(milliseconds: 1_800_000_000_000)
    )

    private func entry(_ description: String) -> [UInt8] {
        Array(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?><entry xmlns=\"http://www.w3.org/2005/Atom\"><content type=\"application/xml\">\(description)</content></entry>"
                .utf8
        )
    }

    private func text(_ registration: WireRegistration) -> String {
        String(decoding: registration.entry(self.place), as: UTF8.self)
    }

    @Test("Both spellings of a description are read, in any order of elements")
    func spellings() throws {
        let named =
            "<AppleRegistrationDescription xmlns=\"\(Self.connect)\" xmlns:i=\"http://www.w3.org/2001/XMLSchema-instance\"><DeviceToken>AB01</DeviceToken><Tags>a, b</Tags></AppleRegistrationDescription>"
        let typed =
            "<RegistrationDescription i:type=\"AppleRegistrationDescription\" xmlns=\"\(Self.connect)\" xmlns:i=\"http://www.w3.org/2001/XMLSchema-instance\"><Tags>a,b</Tags><PushVariables i:nil=\"true\"/><DeviceToken>AB01</DeviceToken></RegistrationDescription>"
        for text in [named, typed] {
            let read = try WireRegistration(reading: self.entry(text))
            #expect(read == WireRegistration(platform: .apple, handle: ["AB01"], tags: ["a", "b"]))
            // A line of an export has no entry.
            #expect(try WireRegistration(reading: Array(text.utf8)) == read)
        }
    }

    @Test("An entry is written in the recorded order, without prefixes but a and i")
    func canonical() {
        var registration = WireRegistration(platform: .apple, id: "1-2-3", handle: ["AB01"], tags: ["b", "a"])
        registration.etag = "7"
        registration.expirationTime = WireTime.never
        registration.pushVariables = "{\"x\":\"<\"}"
        #expect(
            self.text(registration)
                == "<entry a:etag=\"W/&quot;7&quot;\" xmlns=\"http://www.w3.org/2005/Atom\" xmlns:a=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\">"
                + "<id>https://h/default/registrations/1-2-3?api-version=2020-06</id><title type=\"text\">1-2-3</title>"
                + "<published>2027-01-15T08:00:00.000Z</published><updated>2027-01-15T08:00:00.000Z</updated>"
                + "<link rel=\"self\" href=\"https://h/default/registrations/1-2-3?api-version=2020-06\" />"
                + "<content type=\"application/xml\"><AppleRegistrationDescription xmlns=\"\(Self.connect)\" xmlns:i=\"http://www.w3.org/2001/XMLSchema-instance\">"
                + "<ETag>7</ETag><ExpirationTime>9999-12-31T23:59:59.999</ExpirationTime><RegistrationId>1-2-3</RegistrationId>"
                + "<Tags>b,a</Tags><PushVariables>{&quot;x&quot;:&quot;&lt;&quot;}</PushVariables><DeviceToken>AB01</DeviceToken>"
                + "</AppleRegistrationDescription></content></entry>"
        )
    }

    @Test("The elements of each platform's templates have their order")
    func templateOrder() {
        func order(_ platform: WirePlatform) -> [String] {
            var registration = WireRegistration(
                platform: platform,
                id: "1",
                handle: platform.handleElements.map { _ in "x" }
            )
            registration.template = WireTemplate(body: "{}", name: "n", headers: [.init("X-WNS-Type", "wns/toast")])
            return registration.description.elements.map(\.name)
        }
        #expect(
            order(.apple) == ["RegistrationId", "DeviceToken", "BodyTemplate", "Expiry", "TemplateName", "ApnsHeaders"]
        )
        #expect(order(.gcm) == ["RegistrationId", "GcmRegistrationId", "BodyTemplate", "TemplateName"])
        #expect(order(.fcmV1) == ["RegistrationId", "FcmV1RegistrationId", "BodyTemplate", "TemplateName"])
        #expect(order(.windows) == ["RegistrationId", "ChannelUri", "BodyTemplate", "WnsHeaders", "TemplateName"])
        #expect(
            order(.windowsPhone) == ["RegistrationId", "ChannelUri", "BodyTemplate", "MpnsHeaders", "TemplateName"]
        )
        #expect(order(.adm) == ["RegistrationId", "AdmRegistrationId", "BodyTemplate", "TemplateName"])
        #expect(order(.baidu) == ["RegistrationId", "BaiduUserId", "BaiduChannelId", "BodyTemplate", "TemplateName"])
        #expect(order(.browser) == ["RegistrationId", "Endpoint", "P256DH", "Auth", "BodyTemplate", "TemplateName"])
    }

    @Test("What is written is read back", arguments: WirePlatform.allCases)
    func roundTrip(platform: WirePlatform) throws {
        var registration = WireRegistration(
            platform: platform,
            id: "1-2-3",
            handle: platform.handleElements.map { "\($0)&<>\"'" },
            tags: ["a", "b"]
        )
        registration.etag = "3"
        #expect(try WireRegistration(reading: registration.entry(self.place)) == registration)
        registration.template = WireTemplate(
            body: "{\"a\":\"]]> $(x) é\"}",
            name: "my template",
            headers: platform.rawValue == "windows" ? [.init("X-WNS-Type", "wns/toast")] : []
        )
        #expect(try WireRegistration(reading: registration.entry(self.place)) == registration)
    }

    @Test("Names that only clients know are read: Fcm, and Baidu's of JavaScript")
    func otherNames() throws {
        let fcm = "<FcmRegistrationDescription><FcmRegistrationId>t</FcmRegistrationId></FcmRegistrationDescription>"
        #expect(try WireRegistration(reading: Array(fcm.utf8)) == WireRegistration(platform: .gcm, handle: ["t"]))
        let baidu =
            "<BaiduRegistrationDescription><ChannelId>c</ChannelId><UserId>u</UserId></BaiduRegistrationDescription>"
        #expect(try WireRegistration(reading: Array(baidu.utf8)).handle == ["u", "c"])
    }

    @Test(
        "Malformed and hostile XML is refused",
        arguments: [
            "", "x", "<a>", "<entry/>", "<entry><content/></entry>", "<FooRegistrationDescription/>",
            "<AppleRegistrationDescription/>",
            "<AppleRegistrationDescription><DeviceToken/></AppleRegistrationDescription>",
            // An end tag without its beginning, as the Java client writes it for templates without headers.
            "<WindowsTemplateRegistrationDescription><ChannelUri>x</ChannelUri><BodyTemplate>b</BodyTemplate></WnsHeaders></WindowsTemplateRegistrationDescription>",
            // It also leaves text unescaped.
            "<WindowsRegistrationDescription><ChannelUri>https://a/?x=1&y=2</ChannelUri></WindowsRegistrationDescription>",
            "<!DOCTYPE a [<!ENTITY x \"y\">]><AppleRegistrationDescription><DeviceToken>&x;</DeviceToken></AppleRegistrationDescription>",
            "<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>", "<a><?xml?></a>", "<?php",
            "<AppleRegistrationDescription><DeviceToken>a</DeviceToken><DeviceToken>b</DeviceToken></AppleRegistrationDescription>",
            "<AppleTemplateRegistrationDescription><DeviceToken>a</DeviceToken></AppleTemplateRegistrationDescription>",
            String(repeating: "<a>", count: 50_000), "<a b='\u{1}'/>", "<RegistrationDescription type=\":\"/>",
            "<RegistrationDescription/>", "<TemplateRegistrationDescription/>",
        ]
    )
    func malformed(text: String) {
        #expect(throws: InvalidValue.self) { try WireRegistration(reading: Array(text.utf8)) }
    }

    @Test("A feed has title, links and entries, and is one without entries too")
    func feed() throws {
        let feed = WireFeed(
            title: "Registrations",
            address: "https://h/a",
            next: "https://h/b",
            updated: self.place.updated
        )
        let tree = try XMLReader.read(
            feed.bytes([(WireRegistration(platform: .gcm, id: "9", handle: ["t"]), self.place)])
        )
        #expect(tree.elements.map(\.name) == ["title", "id", "updated", "link", "link", "entry"])
        #expect(tree.elements[0].text == "Registrations")
        #expect(tree.elements[4].attributes == [.init("rel", "next"), .init("href", "https://h/b")])
        #expect(
            try XMLReader.read(WireFeed(title: "x", address: "y", updated: self.place.updated).bytes()).elements.count
                == 4
        )
    }

    @Test("An error has code and detail, in no namespace")
    func errors() {
        let bytes = WireError(status: 404, detail: "No <such>").bytes(trackingID: "T", at: self.place.updated)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "<Error><Code>404</Code><Detail>No &lt;such&gt;.TrackingId:T_G0,TimeStamp:1/15/2027 8:00:00 AM</Detail></Error>"
        )
    }
}

@Suite("Tags and filters of the wire")
struct WireTagsTests {
    @Test("Tags of the system stand for ours, in any letter case")
    func translation() throws {
        for (text, ours) in [
            ("a||b", "a || b"),
            (
                "(follows_RedSox || follows_Cardinals) && location_Boston",
                "(follows_RedSox || follows_Cardinals) && location_Boston"
            ),
            ("a && !b", "a && !b"), ("$InstallationId:{x-1} && tpl", "installation:x-1 && tpl"),
            ("$installationid:{x}||$UserId:{ann.b}", "installation:x || username:ann.b"),
            ("!$UserId:{Ann}", "!username:ann"), ("$UserId:{YW5u==}&&a", "username:yw5u== && a"),
            ("$InstallationId:{eA==}||b", "installation:eA== || b"), ("from:YQ== || a", "from:yq== || a"),
            // A name may be any text, which is not read as a part of the expression.
            ("a && user('$UserId:{b}||''c')", "a && user('$userid:{b}||''c')"),
            ("user('é') || $UserId:{b}", "user('é') || username:b"),
        ] {
            #expect(try WireTags.expression(text, .folded).description == ours, "\(text)")
        }
    }

    @Test(
        "Hostile and malformed expressions are refused",
        arguments: [
            "", "$", "$InstallationId", "$InstallationId:x", "$InstallationId:{}", "$InstallationId:{a b}",
            "$UserId:{a||b}",
            "$UserId:{a", "$Other:{a}", "a=b", "=a", "a &&=", "$UserId:{a}==b c", "usernam:a=", "a &", "a && ", "(a",
            "a)", "a b", "a && || b", "é", "a;b", "$UserId:{a)||(b}", "user('a", "user('$UserId:{b}",
            "\u{0}",
            String(repeating: "(", count: 10_000), String(repeating: "!", count: 10_000),
        ]
    )
    func malformed(text: String) { #expect(throws: InvalidValue.self) { try WireTags.expression(text, .folded) } }

    @Test("Clients cannot give a registration tags of the system")
    func system() throws {
        for name in ["$InstallationId:{x}", "$a", "installation:x", "Installation:x"] {
            #expect(throws: InvalidValue.self) { try WireTags.tags([name], .folded) }
        }
        #expect(try WireTags.tags(["a", "A", "b"], .folded).map(\.name) == ["a", "b"])
        #expect(throws: InvalidValue.self) { try WireTags.tags((0...60).map { "t\($0)" }, .folded) }
        #expect(throws: InvalidValue.self) { try WireTags.tag(ofInstallation: "a b") }
    }

    @Test("A list of tags has spaces or none")
    func lists() {
        #expect(WireTags.list("a, b,c ,,") == ["a", "b", "c"])
        #expect(WireTags.list("").isEmpty)
    }

    @Test("A filter names a handle, whatever the property")
    func filters() throws {
        for text in [
            "ChannelUri eq 'AB'", "deviceToken eq 'AB'", "DeviceToken EQ 'AB'", "GcmRegistrationId eq 'AB'",
            "FcmV1RegistrationId eq 'AB'", " AdmRegistrationId  eq  'AB' ",
        ] {
            #expect(try HandleFilter(text).handles.map(\.text) == ["AB", "ab"], "\(text)")
        }
        #expect(try HandleFilter("ChannelUri eq 'https%3a%2f%2fx'").handles.map(\.text).contains("https://x"))
        for text in [
            "", "Tags eq 'a'", "ChannelUri eq a", "ChannelUri eq ''", "ChannelUri eq 'a' or 'b'", "ChannelUri ne 'a'",
            "Endpoint eq 'https://fcm.googleapis.com/x'  and Auth eq 'a'", "Endpoint eq 'a' P256DH eq 'b' Auth eq 'c'",
            "BaiduChannelId eq 'a' and BaiduUserId eq 'b'",
        ] {
            #expect(throws: InvalidValue.self) { try HandleFilter(text) }
        }
    }
}
