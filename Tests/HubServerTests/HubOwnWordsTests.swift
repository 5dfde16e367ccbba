import HTTPTypes
import Hub
import HubWire
import PushModel
import Store
import Testing
import Undisturbed

@testable import HubServer

/// What a client registered, it reads in its own words: official clients cast what they read to the class that they wrote.
@Suite("A hub gives back what it was given", .undisturbed)
struct HubOwnWordsTests {
    private static let pushToken = String(repeating: "aBc0", count: 16)

    private static func gcm(_ token: String, template: String? = nil, type: String = "Gcm") -> String {
        let kind = template == nil ? "" : "Template"
        let body = template.map { "<BodyTemplate><![CDATA[\($0)]]></BodyTemplate><TemplateName>t</TemplateName>" } ?? ""
        return """
            <entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml">\
            <\(type)\(kind)RegistrationDescription xmlns="\(WireNames.connect)"><Tags>a</Tags>\
            <\(type)RegistrationId>\(token)</\(type)RegistrationId>\(body)</\(type)\(kind)RegistrationDescription></content></entry>
            """
    }

    @Test("What was registered as Gcm is read and listed as Gcm, what as FcmV1 as FcmV1")
    func gcm() async throws {
        try await HubHarness.run { hub in
            let template = ##"{"data":{"a":"$(a)"}}"##
            for (id, body, name) in [
                ("1-1-1", Self.gcm("g-1"), "GcmRegistrationDescription"),
                ("1-1-2", Self.gcm("g-2", template: template), "GcmTemplateRegistrationDescription"),
                ("1-1-3", Self.gcm("f-1", type: "FcmV1"), "FcmV1RegistrationDescription"),
            ] {
                let path = "/default/registrations/\(id)"
                let put = try await hub.call(.put, path, as: "Listen", body: body)
                #expect(put.status == 200 && put.text.contains("<\(name) xmlns=\""), "\(put.text)")
                let read = try await hub.call(.get, path, as: "Listen")
                #expect(read.text.contains("<\(name) xmlns=\""), "\(read.text)")
                let again = try await hub.call(.post, "/default/registrations", as: "Listen", body: body)
                #expect(again.text.contains("<\(name) xmlns=\"") && again.text.contains(id), "\(again.text)")
            }
            let names = try await hub.call(.get, "/default/registrations").registrations.map(\.descriptionName)
            #expect(
                names == [
                    "GcmRegistrationDescription", "GcmTemplateRegistrationDescription", "FcmV1RegistrationDescription",
                ]
            )
            let tagged = try await hub.call(.get, "/default/tags/a/registrations").registrations
            #expect(tagged.map(\.platform) == [.gcm, .gcm, .fcmV1])
            let found = try await hub.call(.get, "/default/registrations?$filter=ChannelUri+eq+'g-1'", as: "Listen")
            #expect(try found.registrations.map(\.platform) == [.gcm])
            // The same device, registered by a newer client.
            let newer = try await hub.call(
                .put,
                "/default/registrations/1-1-1",
                body: Self.gcm("g-1", type: "FcmV1")
            )
            #expect(try newer.registration.platform == .fcmV1)
        }
    }

    @Test("What was imported as Gcm, new or known, is read as Gcm")
    func imported() async throws {
        try await HubHarness.run { hub in
            let handle = try Handle("g-1", pns: .fcm)
            var rows = [
                ImportedRegistration(id: RegistrationID("1-1-1"), pns: .fcm, handle: handle, platform: "gcm"),
                ImportedRegistration(id: RegistrationID("1-1-2"), pns: .fcm, handle: try Handle("f-1", pns: .fcm)),
            ]
            for _ in 0..<2 {
                _ = try await hub.store.importRegistrations(rows, app: .default, sequence: nil, lifetime: nil)
                let list = try await hub.call(.get, "/default/registrations").registrations
                #expect(list.map(\.platform) == [.gcm, .fcmV1])
                // One that does not say it, such as a line of another system, takes nothing away.
                rows[0].platform = nil
            }
        }
    }

    @Test("A deleted registration leaves no word of its device behind")
    func deleted() async throws {
        try await HubHarness.run { hub in
            let path = "/default/installations/i-1"
            let body = #"{"platform":"apns","pushChannel":"\#(Self.pushToken)"}"#
            #expect(try await hub.call(.put, path, body: body).status == 200)
            #expect(try await hub.call(.delete, path).status == 204)
            var query = RegistrationQuery(app: .default, state: .deleted)
            query.kinds = RegistrationKind.allCases
            let ended = try await hub.store.registrations(query).items
            #expect(ended.count == 1 && !"\(ended)".contains(Self.pushToken), "\(ended)")
        }
    }

    @Test("An installation is read with the platform and the channel that it was put with, also after a patch")
    func installations() async throws {
        try await HubHarness.run { hub in
            let channel = "https://db5.notify.windows.com/?token=aB%2fc"
            for (number, (platform, channel)) in [
                ("apns", Self.pushToken), ("APNS", Self.pushToken.uppercased()), ("apns", Self.pushToken.lowercased()),
                ("gcm", "g:1-A"), ("fcmV1", "f:1-B"), ("FCMV1", "f:1-C"), ("fcmv1", "f:1-D"), ("wns", channel),
            ].enumerated() {
                let path = "/default/installations/i-\(number)"
                let template = platform == "wns" ? "" : #","templates":{"t":{"body":"{\"data\":{\"a\":\"$(a)\"}}"}}"#
                let body = #"{"platform":"\#(platform)","pushChannel":"\#(channel)","tags":["a"]\#(template)}"#
                let put = try await hub.call(.put, path, as: "Listen", body: body)
                #expect(put.status == 200, "\(put.text)")
                func expectSame(_ when: String) async throws {
                    let text = try await hub.call(.get, path, as: "Listen").text
                    #expect(text.contains(#""platform":"\#(platform)""#), "\(when): \(text)")
                    #expect(text.contains(#""pushChannel":"\#(channel)""#), "\(when): \(text)")
                }
                try await expectSame("put")
                for patch in [
                    #"[{"op":"add","path":"/tags","value":"b"}]"#,
                    #"[{"op":"replace","path":"/userId","value":"ann"}]"#,
                ] {
                    #expect(try await hub.call(.patch, path, body: patch).status == 200)
                    try await expectSame(patch)
                }
                let other = String(repeating: "Ef\(number % 10)1", count: 16)
                if platform.lowercased() == "apns" {
                    let patch = #"[{"op":"replace","path":"/pushChannel","value":"\#(other)"}]"#
                    #expect(try await hub.call(.patch, path, body: patch).status == 200)
                    let text = try await hub.call(.get, path).text
                    #expect(text.contains(#""pushChannel":"\#(other)""#), "\(text)")
                }
                let list = try await hub.call(.get, "/default/installations").text
                #expect(list.contains(#""platform":"\#(platform)""#), "\(list)")
                #expect(try await hub.call(.delete, path).status == 204)
            }
        }
    }

    @Test("A browser's channel comes back as it came: as a text with its blanks, or as an object")
    func browsers() async throws {
        let parts =
            #""endpoint": "https://fcm.googleapis.com/fcm/send/abc:APA91","auth":"BTBZMqHH6r4Tts7J_aSIgg=="#
            + #"","p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4""#
        try await HubHarness.run { hub in
            let path = "/default/installations/b-1"
            let compact = try JSONReader.read(Array("{\(parts)}".utf8)).compactText
            for (channel, shown) in [
                (JSONValue.string("{ \(parts) }").compactText, JSONValue.string("{ \(parts) }").compactText),
                ("{\(parts)}", compact),
            ] {
                let body = #"{"platform":"browser","pushChannel":\#(channel)}"#
                let put = try await hub.call(.put, path, as: "Listen", body: body)
                #expect(put.status == 200, "\(put.text)")
                let read = try await hub.call(.get, path, as: "Listen").text
                #expect(read.contains(#""pushChannel":\#(shown)"#), "\(read)")
                #expect(try await hub.call(.put, path, as: "Listen", body: read).status == 200)
            }
            // What getPnsHandle of official clients gives.
            for channel in ["{\(parts)}", compact, PercentCoding.encode(compact)] {
                let filter = PercentCoding.encode("ChannelUri eq '\(channel)'")
                let found = try await hub.call(.get, "/default/registrations?$filter=\(filter)", as: "Listen")
                #expect(try found.registrations.count == 1, "\(channel): \(found.text)")
            }
            let wrong = PercentCoding.encode(#"ChannelUri eq '{"endpoint":"x"}'"#)
            let refused = try await hub.call(.get, "/default/registrations?$filter=\(wrong)", as: "Listen")
            #expect(refused.status == 400 && refused.text.contains("$filter"), "\(refused.text)")
            let junk = JSONValue.string("{\(parts),\"x\":\"\(String(repeating: "x", count: 5000))\"}").compactText
            let large = try await hub.call(
                .put,
                "/default/installations/b-2",
                body: #"{"platform":"browser","pushChannel":\#(junk)}"#
            )
            #expect(large.status == 400 && large.text.contains("pushChannel"), "\(large.text)")
        }
    }

    @Test("What never ends says so as the original does at each place")
    func never() async throws {
        try await HubHarness.run { hub in
            let end = "9999-12-31T23:59:59"
            func time(_ answer: HubHarness.Answer) throws -> String? { try answer.registration.expirationTime }
            let path = "/default/registrations/1-1-1"
            #expect(try time(await hub.call(.put, path, body: HubHarness.apple())) == "\(end).999")
            #expect(
                try time(await hub.call(.post, "/default/registrations", body: HubHarness.apple())) == "\(end).999"
            )
            #expect(try time(await hub.call(.get, path)) == "\(end).999Z")
            let list = try await hub.call(.get, "/default/registrations").registrations
            #expect(list.map(\.expirationTime) == ["\(end).999Z"])
            let installation = #"{"platform":"apns","pushChannel":"\#(String(repeating: "cd", count: 32))"}"#
            #expect(try await hub.call(.put, "/default/installations/i-1", body: installation).status == 200)
            let read = try await hub.call(.get, "/default/installations/i-1").text
            #expect(read.contains(#""expirationTime":"\#(end).9999999Z""#), "\(read)")
        }
    }

    @Test(
        "Telemetry has what was sent, byte for byte, and the platform that it was sent to",
        arguments: [
            ("apple", "{ \"aps\" : {\"alert\":\"\\u00e9 \\/\"},\r\n\t\"n\": 1.0 }", "apple"),
            ("fcmv1", #"{"message": {"data":{"a":"b"}}}"#, "fcmv1"), ("gcm", #"{ "data":{"a":"b"} }"#, "gcm"),
            ("GCM", #"{"data":{"a":"b"}}"#, "gcm"), ("template", #"{ "Title":"<x>", "n":7 }"#, nil),
            ("windows", "<toast>\n<visual/>\t</toast>", "windows"),
        ] as [(String, String, String?)]
    )
    func telemetry(format: String, body: String, platform: String?) async throws {
        try await HubHarness.run { hub in
            var headers = ["ServiceBusNotification-Format": format]
            let start = String(Timestamp.now.advanced(by: .seconds(3600)).iso8601.prefix(19))
            for (path, more) in [
                ("messages", [:]), ("schedulednotifications", ["ServiceBusNotification-ScheduleTime": start]),
            ] as [(String, [String: String])] {
                headers.merge(more) { $1 }
                let sent = try await hub.call(.post, "/default/\(path)", body: body, headers: headers)
                #expect(sent.status == 201, "\(sent.text)")
                let id = try await hub.job(of: sent).id
                let answer = try await hub.call(.get, "/default/messages/\(id)")
                #expect(try answer.element("NotificationBody") == body, "\(answer.text)")
                if let platform { #expect(try answer.element("TargetPlatforms") == platform) }
            }
        }
    }

    /// A hub that says of each send what it is told to say.
    private struct ReportingHub: ServedHub {
        let hub: EmbeddedHub
        let report: HubReport

        func register(_ request: RegisterRequest, for job: Job, spec: AppSpec) async throws -> RegisterResult? {
            try await self.hub.register(request, for: job, spec: spec)
        }
        func take(_ send: HubSend) async throws -> String? { try await self.hub.take(send) }
        func take(_ sends: [HubSend]) async throws -> [String?] { try await self.hub.take(sends) }
        func outcome(of id: String, app: AppID) async throws -> HubOutcome { .known(self.report) }
    }

    @Test("Devices count under the platform that their send names, or that their templates were registered for")
    func counts() async throws {
        let devices = ["Success": 5, "ExpiredChannel": 1]
        func count(_ platform: String, _ success: Int, _ expired: Int = 0) -> String {
            "<\(platform)OutcomeCounts>"
                + (expired > 0 ? "<Outcome><Name>ExpiredChannel</Name><Count>\(expired)</Count></Outcome>" : "")
                + "<Outcome><Name>Success</Name><Count>\(success)</Count></Outcome></\(platform)OutcomeCounts>"
        }
        for (platform, own, platforms, expected) in [
            (nil, [:], "fcmv1", [count("FcmV1", 5, 1)]), ("gcm", [:], "gcm", [count("Gcm", 5, 1)]),
            (nil, ["gcm": devices], "gcmtemplate", [count("Gcm", 5, 1)]),
            (
                nil, ["gcm": ["Success": 2, "ExpiredChannel": 1]], "gcmtemplate,fcmv1template",
                [count("Gcm", 2, 1), count("FcmV1", 3)]
            ),
        ] as [(String?, [String: [String: Int]], String, [String])] {
            var report = HubReport(state: .completed, devices: devices)
            (report.counts, report.services, report.platform) = ([.fcm: devices], [.fcm], platform)
            (report.platformCounts, report.isForTemplates) = (own, !own.isEmpty)
            try await HubHarness.run(served: { [report] in ReportingHub(hub: $0, report: report) }) { hub in
                let answer = try await hub.call(.get, "/default/messages/x")
                #expect(try answer.element("TargetPlatforms") == platforms)
                for element in expected { #expect(answer.text.contains(element), "\(answer.text)") }
                let elements = try XMLReader.read(answer.bytes).elements
                #expect(elements.count { $0.name.hasSuffix("OutcomeCounts") } == expected.count, "\(answer.text)")
            }
        }
    }
}
