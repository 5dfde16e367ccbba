import HTTPTypes
import HubWire
import PushModel
import Testing
import Undisturbed

/// What official clients of an Azure Notification Hub rely on, row by row: statuses, headers, names, prefixes and order as recorded.
@Suite("The contract of a hub", .undisturbed)
struct HubContractTests {
    private static let versions = [
        "2013-04", "2013-10", "2014-09", "2015-01", "2015-04", "2015-08", "2016-07", "2017-04", "2020-06",
    ]
    private static let payload = #"{"aps":{"alert":"x"}}"#
    private static let format = ["ServiceBusNotification-Format": "apple", "Content-Type": "application/json"]

    /// One request, and what must come back.
    private struct Row {
        let method: HTTPRequest.Method
        let path: String
        var body: String?
        var headers: [String: String] = [:]
        let status: Int
        var type: String? = WireNames.xml
        var isEmpty = false
    }

    /// The rows of a hub in the order of a device's life.
    private static func rows(_ version: String) -> [Row] {
        let (v, entry) = ("api-version=\(version)", WireNames.entry)
        let installation =
            #"{"installationId":"i-1","platform":"apns","pushChannel":"\#(String(repeating: "CD", count: 32))"}"#
        let patch = #"[{"op":"add","path":"/tags","value":"a"}]"#
        let (one, installed) = ("/default/registrations/1-2-3?\(v)", "/default/installations/i-1?\(v)")
        return [
            Row(method: .post, path: "/default/registrationids/?\(v)", status: 201, isEmpty: true),
            Row(method: .put, path: one, body: HubHarness.apple(), status: 200, type: entry),
            Row(method: .get, path: one, status: 200, type: entry),
            Row(method: .post, path: "/default/registrations?\(v)", body: HubHarness.apple(), status: 200, type: entry),
            Row(method: .get, path: "/default/registrations?\(v)&$top=100", status: 200, type: WireNames.feed),
            Row(method: .get, path: "/default/tags/a/registrations?\(v)", status: 200, type: WireNames.feed),
            Row(method: .delete, path: one, headers: ["If-Match": "*"], status: 200, isEmpty: true),
            Row(method: .delete, path: one, headers: ["If-Match": "*"], status: 404),
            Row(method: .put, path: installed, body: installation, status: 200, isEmpty: true),
            // The type of XML for this JSON is the original's.
            Row(method: .get, path: installed, status: 200),
            Row(method: .patch, path: installed, body: patch, status: 200, isEmpty: true),
            Row(method: .delete, path: installed, status: 204, type: nil, isEmpty: true),
            Row(method: .delete, path: installed, status: 204, type: nil, isEmpty: true),
            Row(method: .get, path: installed, status: 404),
            Row(
                method: .post,
                path: "/default/messages/?\(v)",
                body: self.payload,
                headers: self.format,
                status: 201,
                isEmpty: true
            ),
        ]
    }

    @Test(
        "Each operation has the status, media type and body that every SDK takes, in any version",
        arguments: versions
    )
    func statuses(version: String) async throws {
        try await HubHarness.run { hub in
            for row in Self.rows(version) {
                let id = "0B7A7A3E-2C7D-4E58-9D0A-0123456789AB"
                let headers = row.headers.merging(["TrackingId": id, "x-ms-version": version]) { $1 }
                let answer = try await hub.call(row.method, row.path, body: row.body, headers: headers)
                let what = "\(row.method) \(row.path)"
                #expect(answer.status == row.status, "\(what): \(answer.text)")
                #expect(answer.header("Content-Type") == row.type, "\(what)")
                #expect(answer.bytes.isEmpty == row.isEmpty, "\(what)")
                #expect(
                    answer.header("TrackingId") == id && answer.header("x-ms-correlation-request-id") != nil,
                    "\(what)"
                )
                #expect(answer.header("Strict-Transport-Security")?.hasPrefix("max-age=") == true, "\(what)")
                if row.path.contains("/installations/"), row.method == .put || row.method == .patch {
                    #expect(
                        answer.header("Content-Location")?.contains("/default/installations/i-1?") == true,
                        "\(what)"
                    )
                }
                if let location = answer.header("Location") ?? answer.header("Content-Location") {
                    #expect(
                        location.hasPrefix("https://") && location.hasSuffix("?api-version=\(version)"),
                        "\(location)"
                    )
                }
                if row.status == 404 {
                    #expect(
                        answer.text.hasPrefix("<Error><Code>404</Code><Detail>")
                            && answer.text.hasSuffix("</Detail></Error>")
                    )
                }
                if row.type == WireNames.entry {
                    let etag = try #require(try answer.registration.etag)
                    #expect(answer.header("ETag") == "W/\"\(etag)\"" && Int(etag) != nil)
                    #expect((answer.header("Content-Location") != nil) == (row.method == .post))
                }
            }
        }
    }

    @Test("Names in paths have any letter case, and a slash at their end or none")
    func paths() async throws {
        try await HubHarness.run { hub in
            for path in ["registrationids", "registrationIDs/", "RegistrationIds", "REGISTRATIONIDS/"] {
                for name in ["default", "Default"] {
                    let answer = try await hub.call(.post, "/\(name)/\(path)?api-version=2013-04", as: "Listen")
                    // The client compares the address with what it asked for.
                    #expect(
                        answer.status == 201 && answer.header("Location")?.contains("/\(name)/registrationids/") == true
                    )
                }
            }
            for path in ["Registrations/1-1-1", "registrations/1-1-1/"] {
                #expect(try await hub.call(.put, "/default/\(path)", body: HubHarness.apple()).status == 200, "\(path)")
            }
            for path in ["messages", "Messages/", "messages/?direct=true"] {
                let headers = Self.format.merging(["ServiceBusNotification-DeviceHandle": HubHarness.token]) { $1 }
                #expect(
                    try await hub.call(.post, "/default/\(path)", body: Self.payload, headers: headers).status == 201,
                    "\(path)"
                )
            }
        }
    }

    @Test(
        "A description in either spelling is answered under its own name, in order, with the prefixes that clients compare"
    )
    func names() async throws {
        try await HubHarness.run { hub in
            let connect = WireNames.connect
            let net =
                #"<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><RegistrationDescription i:type="AppleRegistrationDescription" xmlns="\#(connect)" xmlns:i="http://www.w3.org/2001/XMLSchema-instance"><DeviceToken>\#(HubHarness.token)</DeviceToken><Tags>b,a</Tags></RegistrationDescription></content></entry>"#
            for (body, type) in [
                (net, "application/atom+xml;type=entry;charset=utf-8"),
                (HubHarness.apple(tags: "b, a"), "application/xml"),
            ] {
                let path = "/default/registrations/7-7-7?api-version=2020-06"
                let answer = try await hub.call(.put, path, body: body, headers: ["Content-Type": type])
                let etag = try #require(try answer.registration.etag)
                let expected =
                    #"<AppleRegistrationDescription xmlns="\#(connect)" xmlns:i="http://www.w3.org/2001/XMLSchema-instance">"#
                    + "<ETag>\(etag)</ETag><ExpirationTime>9999-12-31T23:59:59.999</ExpirationTime>"
                    + "<RegistrationId>7-7-7</RegistrationId><Tags>a,b</Tags><DeviceToken>\(HubHarness.token)</DeviceToken>"
                    + "</AppleRegistrationDescription>"
                #expect(
                    answer.status == 200 && answer.text.contains(">\(expected)</content></entry>"),
                    "\(answer.text)"
                )
                #expect(
                    answer.text.hasPrefix(
                        "<entry a:etag=\"W/&quot;\(etag)&quot;\" xmlns=\"http://www.w3.org/2005/Atom\" xmlns:a=\"\(WireNames.metadata)\"><id>"
                    )
                )
                let list = try await hub.call(.get, "/default/registrations?api-version=2020-06")
                #expect(list.text.hasPrefix("<feed xmlns=\"http://www.w3.org/2005/Atom\""), "\(list.text)")
                let inList = expected.replacing("59.999</ExpirationTime>", with: "59.999Z</ExpirationTime>")
                #expect(list.text.contains(">\(inList)</content></entry>"), "\(list.text)")
                let feed = try XMLReader.read(list.bytes)
                #expect(feed.elements.map(\.name) == ["title", "id", "updated", "link", "entry"])
                let entry = try #require(feed.elements.last)
                #expect(entry.elements.map(\.name) == ["id", "title", "published", "updated", "link", "content"])
                // A client takes the first child, whatever it is.
                #expect(entry.first("content")?.contents.count == 1)
            }
        }
    }

    @Test("What the Java client writes wrong is 400 with an error in XML, and nothing else")
    func malformed() async throws {
        try await HubHarness.run { hub in
            for body in [
                "<entry><content><WindowsTemplateRegistrationDescription><ChannelUri>https://x</ChannelUri><BodyTemplate><![CDATA[<toast/>]]></BodyTemplate></WnsHeaders></WindowsTemplateRegistrationDescription></content></entry>",
                "<entry><content><WindowsRegistrationDescription><ChannelUri>https://a/?x=1&y=2</ChannelUri></WindowsRegistrationDescription></content></entry>",
                "<!DOCTYPE e [<!ENTITY a \"b\">]><entry><content>&a;</content></entry>",
                String(repeating: "<entry>", count: 40) + String(repeating: "</entry>", count: 40),
            ] {
                let answer = try await hub.call(.post, "/default/registrations", body: body)
                #expect(answer.status == 400 && answer.header("Content-Type") == WireNames.xml)
                #expect(try answer.element("Code") == "400")
            }
            // Quotes that it does not escape.
            let headers = ["ServiceBusNotification-Format": "template"]
            let answer = try await hub.call(.post, "/default/messages", body: #"{"a":"say "hi""}"#, headers: headers)
            #expect(answer.status == 400)
        }
    }

    @Test("A token's fields have any order, and the rule's name is encoded or not")
    func tokens() async throws {
        try await HubHarness.run { hub in
            let token = SASToken.make(
                audience: "https://localhost/default",
                rule: "Full",
                key: "full-key==",
                expires: Timestamp.now.advanced(by: .seconds(60))
            )
            let scheme = "SharedAccessSignature "
            let fields = token.dropFirst(scheme.count).split(separator: "&").map(String.init)
            for order in [[0, 1, 2, 3], [1, 2, 3, 0], [3, 2, 1, 0]] {
                let text = scheme + order.map { fields[$0] }.joined(separator: "&")
                let answer = try await hub.call(
                    .post,
                    "/default/registrationids",
                    as: nil,
                    headers: ["Authorization": text]
                )
                #expect(answer.status == 201, "\(order)")
            }
        }
    }

    @Test("A time to send at is read as each client writes it")
    func schedules() async throws {
        try await HubHarness.run { hub in
            let start = String(Timestamp.now.advanced(by: .seconds(3600)).iso8601.prefix(19))
            for text in [start, "\(start).000Z", start.replacing("T", with: "'T'")] {
                let headers = Self.format.merging(["ServiceBusNotification-ScheduleTime": text]) { $1 }
                let answer = try await hub.call(
                    .post,
                    "/default/schedulednotifications/?api-version=2020-06",
                    body: Self.payload,
                    headers: headers
                )
                #expect(
                    answer.status == 201
                        && answer.header("Location")?.contains("/default/schedulednotifications/") == true
                )
                #expect(try await hub.job(of: answer).startsAt?.iso8601.hasPrefix(start) == true, "\(text)")
            }
        }
    }

    @Test("A batch is taken with the boundary of each client, and its address has no $batch")
    func batches() async throws {
        try await HubHarness.run { hub in
            let boundary = "nh-batch-multipart-boundary"
            let body = """
                --\(boundary)\r\nContent-Type: application/json\r\nContent-Disposition: inline; name=notification\r\n\r\n\(Self.payload)\r\n\
                --\(boundary)\r\nContent-Disposition: inline; name=devices\r\nContent-Type: application/json\r\n\r\n["\(HubHarness.token)"]\r\n--\(boundary)--\r\n
                """
            for type in ["boundary=\(boundary)", "boundary=\"\(boundary)\"", "boundary = \"\(boundary)\""] {
                let answer = try await hub.call(
                    .post,
                    "/default/messages/$batch?direct&api-version=2015-08",
                    body: body,
                    headers: ["ServiceBusNotification-Format": "apple", "Content-Type": "multipart/mixed; \(type)"]
                )
                let parts = answer.header("Location")?.prefix { $0 != "?" }.split(separator: "/").dropFirst(2) ?? []
                // JavaScript takes the third segment, the others the last.
                #expect(
                    answer.status == 201 && parts.count == 3 && parts.dropFirst().first == "messages",
                    "\(type): \(answer.text)"
                )
            }
        }
    }

    @Test("An installation has nulls, an empty object of headers and the times of iOS")
    func installations() async throws {
        try await HubHarness.run { hub in
            let token = HubHarness.token
            for (number, body) in [
                #"{"installationId":"i","userId":null,"expirationTime":null,"pushChannelExpired":null,"pushChannel":"\#(token)","platform":"apns","tags":["a"],"templates":null,"secondaryTiles":null,"pushVariables":null}"#,
                #"{"installationId":"i","platform":"APNS","pushChannel":"\#(token)","tags":["a"],"expirationTime":"2126-02-19T07:08+0000","templates":{}}"#,
                #"{"installationId":"i","platform":"apns","pushChannel":"\#(token)","tags":["a"],"expirationTime":"2126-02-19T07:08:09.123Z"}"#,
            ].enumerated() {
                let put = try await hub.call(.put, "/default/installations/i", as: "Listen", body: body)
                #expect(put.status == 200 && put.bytes.isEmpty, "\(number): \(put.text)")
                let read = try await hub.call(.get, "/default/installations/i", as: "Listen")
                let installation = try WireInstallation(reading: read.bytes, id: "i")
                let end =
                    number == 0
                    ? "9999-12-31T23:59:59.9999999Z" : number == 1 ? "2126-02-19T07:08:00" : "2126-02-19T07:08:09"
                #expect(
                    installation.tags == ["a"] && installation.expirationTime?.hasPrefix(end) == true,
                    "\(read.text)"
                )
            }
            // What is in its place in the lists of registrations.
            let never =
                #"{"platform":"apns","pushChannel":"\#(token)","expirationTime":"9999-12-31T23:59:59.9999999Z"}"#
            #expect(try await hub.call(.put, "/default/installations/i", body: never).status == 200)
            let list = try await hub.call(.get, "/default/registrations")
            #expect(list.text.contains("<ExpirationTime>9999-12-31T23:59:59.9999999Z</ExpirationTime>"), "\(list.text)")
        }
    }
}
