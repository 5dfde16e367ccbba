import Foundation
import InstallationSupport
import PushModel
import PushlineSimulator
import RawHTTP
import Testing
import Undisturbed

/// Sends to templates, from `pushline-hub` through RabbitMQ to the push services.
@Suite(.serialized, .ownInstallation, .timeLimit(.minutes(5)), .undisturbed) struct HubTemplateEndToEndTests {
    private static let hostile = #"a "b" <c> & </toast> \ 🍜 {"aps":{}} ]]>"#

    private var installation: EndToEndInstallation { get throws { try #require(EndToEndInstallation.current) } }

    /// An answer's status and headers.
    private static func call(
        _ connection: inout RawConnection,
        _ hub: HubAccess,
        _ method: String,
        _ path: String,
        _ body: JSONValue,
        _ fields: String = "Content-Type: application/json"
    ) async throws -> String {
        let request = hub.request(method, "\(path)?api-version=2020-06", body: body.compactText, fields)
        return try await connection.exchange(request)
    }

    /// An installation with templates by their names.
    private static func device(_ platform: String, _ channel: String, _ templates: [(name: String, JSONValue)])
        -> JSONValue
    {
        .members([
            "platform": .string(platform), "pushChannel": .string(channel), "tags": .strings(["all"]),
            "templates": .object(templates.map { .init($0.name, $0.1) }),
        ])
    }

    private static func template(_ body: String, _ headers: [String: String] = [:]) -> JSONValue {
        .members(["body": .string(body), "headers": headers.isEmpty ? nil : .texts(headers)])
    }

    /// Sends, and waits for the outcome.
    private func send(
        _ connection: inout RawConnection,
        _ hub: HubAccess,
        _ properties: [String: String],
        to tags: String
    ) async throws -> String {
        let fields = "ServiceBusNotification-Format: template\r\nServiceBusNotification-Tags: \(tags)"
        let answer = try await Self.call(&connection, hub, "POST", "/messages", .texts(properties), fields)
        #expect(answer.hasPrefix("HTTP/1.1 201 "), "\(answer)")
        return String(try #require(answer.firstMatch(of: /(?i:location): [^\r]*\/messages\/([0-9a-f-]{36})\?/)).1)
    }

    @Test func eachServiceGetsTheTemplateOfItsDevices() async throws {
        let installation = try self.installation
        let hub = try await installation.startHub()
        var connection = try await RawConnection.open(port: hub.port, trusting: hub.authority)
        defer { connection.close() }
        let handles = try Dictionary(
            uniqueKeysWithValues: Simulator.services.map { ($0, try installation.simulator.device("template", of: $0)) }
        )
        let fcm = ##"{"message":{"data":{"text":"{'Hi ' + $(text)}"}}}"##
        let toast =
            #"<toast><visual><binding template="ToastText01"><text id="1">$(text)</text></binding></visual></toast>"#
        for (pns, handle) in handles {
            let (platform, channel, templates): (String, String, [(name: String, JSONValue)]) =
                switch pns {
                case .apns:
                    (
                        "apns", handle,
                        [
                            ("one", Self.template(##"{"aps":{"alert":"$(text)","badge":"#(n)"}}"##)),
                            ("two", Self.template(##"{"aps":{"alert":".(text, 8)"}}"##)),
                        ]
                    )
                case .fcm: ("fcmv1", handle, [("one", Self.template(fcm))])
                case .wns: ("wns", handle, [("one", Self.template(toast, ["X-WNS-Type": "wns/toast"]))])
                default:
                    (
                        "browser", String(decoding: try #require(Base64URL.decode(handle)), as: UTF8.self),
                        [("one", Self.template(##"{"title":"$(text)"}"##))]
                    )
                }
            let body = Self.device(platform, channel, templates)
            let put = try await Self.call(&connection, hub, "PUT", "/installations/t-\(pns.rawValue)", body)
            #expect(put.hasPrefix("HTTP/1.1 200 "), "\(put)")
        }
        // A device of an older client: official clients look for its outcomes under the platform that it was put with.
        let older = try installation.simulator.device("template-gcm", of: .fcm)
        let device = Self.device("gcm", older, [("one", Self.template(##"{"data":{"text":"$(text)"}}"##))])
        let put = try await Self.call(&connection, hub, "PUT", "/installations/t-gcm", device)
        #expect(put.hasPrefix("HTTP/1.1 200 "), "\(put)")
        let id = try await self.send(&connection, hub, ["text": Self.hostile, "n": "7"], to: "all")
        let job = try await installation.finished(id)
        #expect(job.state == "completed" && job.totals.targets == 6 && job.totals.accepted == 6, "\(job)")
        let telemetry = try await connection.exchange(hub.request("GET", "/messages/\(id)?api-version=2020-06"))
        let one = "<Outcome><Name>Success</Name><Count>1</Count></Outcome>"
        for platform in ["Gcm", "FcmV1"] {
            let counts = "<\(platform)OutcomeCounts>\(one)</\(platform)OutcomeCounts>"
            #expect(telemetry.contains(counts), "\(telemetry)")
        }
        for (pns, handle) in handles {
            let bodies = installation.simulator.received(token: handle).map(\.body).sorted()
            let text = JSONValue.string(Self.hostile).compactText
            switch pns {
            case .apns:
                let clipped = JSONValue.string(Self.hostile.prefix(5) + "...").compactText
                #expect(
                    bodies == [#"{"aps":{"alert":\#(clipped)}}"#, #"{"aps":{"alert":\#(text),"badge":7}}"#].sorted()
                )
            case .fcm:
                let hi = JSONValue.string("Hi \(Self.hostile)").compactText
                #expect(bodies.count == 1 && bodies[0].contains(#""data":{"text":\#(hi)}"#), "\(bodies)")
            case .wns:
                #expect(bodies.count == 1)
                let tree = try XMLReader.read(Array(try #require(bodies.first).utf8))
                #expect(tree.first("visual")?.first("binding")?.first("text")?.text == Self.hostile)
            default: #expect(bodies == [#"{"title":\#(text)}"#])
            }
        }
        // One template of one device, by its name.
        let only = try await self.send(&connection, hub, ["text": "x"], to: "$InstallationId:{t-apns} && two")
        #expect(try await installation.finished(only).totals.accepted == 1)
    }

    // MARK: A browser, registered as the wire's XML has it

    /// A browser's registration for a template, in the order in which the client for JavaScript writes it.
    private static func browser(_ subscription: WebPushSubscription, tag: String, template: String) -> String {
        """
        <?xml version="1.0" encoding="utf-8"?><entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml">\
        <BrowserTemplateRegistrationDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect">\
        <Tags>\(tag)</Tags><Endpoint>\(subscription.endpoint.url)</Endpoint>\
        <Auth>\(Base64URL.encode(subscription.authenticationSecret))</Auth>\
        <P256DH>\(Base64URL.encode(subscription.publicKey))</P256DH><BodyTemplate><![CDATA[\(template)]]></BodyTemplate>\
        <TemplateName>greeting</TemplateName></BrowserTemplateRegistrationDescription></content></entry>
        """
    }

    /// Values that would end the string, the object or the script that a page makes of it.
    static let hostileValues = [
        Self.hostile, #"", "url": "https://evil.example.com", "x": ""#, #"\"}{"title":"other"}"#, "a\nb\tc\u{0}\u{1F}d",
        "\u{2028}</script><script>alert(1)</script>\u{2029}", "$(text) #(n) {'x' + $(n)}", "",
    ]

    @Test func aBrowserReadsItsTemplateWhateverTheValues() async throws {
        let installation = try self.installation
        let hub = try await installation.startHub(as: "hub-browser")
        var connection = try await RawConnection.open(port: hub.port, trusting: hub.authority)
        defer { connection.close() }
        let handle = try installation.simulator.device("browser-by-xml", of: .web)
        let template = ##"{"title":"$(text)","body":"{'Hi ' + $(text) + '!'}","count":"#(n)"}"##
        let entry = Self.browser(try WebPushSubscription(handle: handle), tag: "xml", template: template)
        let type = "Content-Type: application/atom+xml;type=entry;charset=utf-8"
        let made = try await connection.exchange(
            hub.request("POST", "/registrations?api-version=2020-06", body: entry, type)
        )
        #expect(made.hasPrefix("HTTP/1.1 200 "), "\(made)")
        #expect(
            made.contains("<TemplateName>greeting</TemplateName></BrowserTemplateRegistrationDescription>"),
            "\(made)"
        )
        for (place, value) in Self.hostileValues.enumerated() {
            let id = try await self.send(&connection, hub, ["text": value, "n": "7"], to: "xml")
            let job = try await installation.finished(id)
            #expect(job.state == "completed" && job.totals.targets == 1 && job.totals.accepted == 1, "\(job)")
            // As the browser has decrypted it.
            let bodies = installation.simulator.received(token: handle).map(\.body)
            #expect(bodies.count == place + 1)
            let read = try JSONReader.read(Array(try #require(bodies.last).utf8))
            let expected = JSONValue.members([
                "title": .string(value), "body": .string("Hi \(value)!"), "count": .integer(7),
            ])
            #expect(read == expected, "\(bodies)")
        }
    }

    // MARK: Workers that die

    @Test(arguments: [
        ("send-worker", "fanout.read:1"), ("send-worker", "fanout.committed:1"), ("delivery-worker", "deliver.begun:2"),
        ("delivery-worker", "deliver.sent:2"), ("delivery-worker", "deliver.recorded:1"),
    ])
    func aKilledWorkerLosesNothingAndCountsNothingTwice(worker: String, point: String) async throws {
        let installation = try self.installation
        let tag = point.replacing(".", with: "-").replacing(":", with: "-")
        let hub = try await installation.startHub(as: "hub-\(tag)")
        var connection = try await RawConnection.open(port: hub.port, trusting: hub.authority)
        defer { connection.close() }
        let languages = ["en", "de", "fr"]
        var tokens: [String] = []
        for number in 0..<30 {
            let token = try installation.simulator.device("\(tag)\(number)", of: .fcm)
            tokens.append(token)
            let body = ##"{"message":{"data":{"text":"$(\##(languages[number % 3]))"}}}"##
            var device = Self.device("fcmv1", token, [("t", Self.template(body))])
            if case .object(let members) = device {
                device = .object(members.filter { $0.name != "tags" } + [.init("tags", .strings([tag]))])
            }
            let put = try await Self.call(&connection, hub, "PUT", "/installations/\(tag)-\(number)", device)
            #expect(put.hasPrefix("HTTP/1.1 200 "), "\(put)")
        }
        _ = try await installation.terminate(worker)
        try await installation.start(worker, environment: ["PUSHLINE_CRASH_AT": point])
        let properties = Dictionary(uniqueKeysWithValues: languages.map { ($0, "in \($0)") })
        let id = try await self.send(&connection, hub, properties, to: tag)
        try await eventually("the worker dies at \(point)") { await installation.hasEnded(worker) }
        try await installation.start(worker)
        let job = try await installation.finished(id, within: .seconds(150))
        #expect(job.state == "completed")
        #expect(job.totals.targets == 30 && job.totals.accepted == 30 && job.totals.outcomes == 30, "\(job)")
        for (number, token) in tokens.enumerated() {
            let bodies = Set(installation.simulator.received(token: token).map(\.body))
            #expect(bodies.count == 1 && bodies.first?.contains("in \(languages[number % 3])") == true, "\(bodies)")
        }
    }
}
