import HTTPTypes
import HubWire
import PushModel
import Testing
import Undisturbed

/// Rows of the contract that each official client stands on, beyond ``HubContractTests``: what they send in their own way, and the
/// smallest thing that they would fail over.
@Suite("The contract of a hub, row by row", .undisturbed)
struct HubContractRowsTests {
    private static let payload = #"{"aps":{"alert":"x"}}"#
    private static let toast = "<toast><visual/></toast>"

    private static func headers(_ format: String, _ more: [String: String] = [:]) -> [String: String] {
        ["ServiceBusNotification-Format": format].merging(more) { $1 }
    }

    private static func batch(_ notification: String, _ handle: String) -> String {
        """
        --b\r\nContent-Type: application/json\r\nContent-Disposition: inline; name=notification\r\n\r\n\(notification)\r\n\
        --b\r\nContent-Disposition: inline; name=devices\r\nContent-Type: application/json\r\n\r\n["\(handle)"]\r\n--b--\r\n
        """
    }

    // MARK: Sends

    /// A way to send.
    private struct Form {
        let path: String
        var headers: [String: String] = [:]
        var isBatch = false
        var resource = "messages"
    }

    private static func forms() -> [Form] {
        let start = String(Timestamp.now.advanced(by: .seconds(3600)).iso8601.prefix(19))
        let schedule = ["ServiceBusNotification-ScheduleTime": start]
        let handle = ["ServiceBusNotification-DeviceHandle": HubHarness.token]
        return [
            Form(path: "messages"), Form(path: "messages", headers: ["ServiceBusNotification-Tags": "a || b"]),
            Form(path: "messages?direct", headers: handle), Form(path: "messages/?direct=true", headers: handle),
            Form(path: "messages/$batch?direct", isBatch: true),
            Form(path: "messages/$BATCH?direct=true", isBatch: true),
            Form(path: "schedulednotifications", headers: schedule, resource: "schedulednotifications"),
            Form(path: "ScheduledNotifications/", headers: schedule, resource: "schedulednotifications"),
        ]
    }

    @Test("A send of every form is 201 without a body, with its place and the ids of the request")
    func sends() async throws {
        try await HubHarness.run { hub in
            for (number, form) in Self.forms().enumerated() {
                var headers = Self.headers("apple", form.headers)
                headers["Content-Type"] = form.isBatch ? "multipart/mixed; boundary=\"b\"" : "application/json"
                headers["TrackingId"] = "0B7A7A3E-2C7D-4E58-9D0A-01234567890\(number)"
                let query = "\(form.path.contains("?") ? "&" : "?")api-version=2020-06"
                let answer = try await hub.call(
                    .post,
                    "/default/\(form.path)\(query)",
                    as: "Send",
                    body: form.isBatch ? Self.batch(Self.payload, HubHarness.token) : Self.payload,
                    headers: headers
                )
                #expect(answer.status == 201 && answer.bytes.isEmpty, "\(form.path): \(answer.text)")
                #expect(answer.header("Content-Type") == "application/xml; charset=utf-8")
                #expect(answer.header("TrackingId") == headers["TrackingId"])
                #expect(answer.header("x-ms-correlation-request-id") != nil)
                let location = try #require(answer.header("Location"))
                let id = try await hub.job(of: answer).id.description
                // An absolute address, from which each client cuts the id in its own way.
                #expect(location.hasPrefix("https://") && location.hasSuffix("?api-version=2020-06"), "\(location)")
                #expect(location.contains("/default/\(form.resource)/\(id)?"), "\(location)")
            }
        }
    }

    @Test("The PHP client has no TrackingId: each request is a send of its own, and gets one")
    func withoutTrackingID() async throws {
        try await HubHarness.run { hub in
            let path = "/default/messages/?api-version=2013-10"
            let headers = Self.headers("gcm", ["Content-Type": "application/json;charset=utf-8"])
            var (ids, places) = (Set<String>(), Set<String>())
            for _ in 0..<2 {
                let answer = try await hub.call(.post, path, body: #"{"data":{"a":"b"}}"#, headers: headers)
                #expect(answer.status == 201, "\(answer.text)")
                ids.insert(try #require(answer.header("TrackingId")))
                places.insert(try #require(answer.header("Location")))
            }
            #expect(ids.count == 2 && places.count == 2)
        }
    }

    @Test("Flags of a path have no value or any: a test is answered at once, with what became of it")
    func flags() async throws {
        try await HubHarness.run { hub in
            for flag in ["test", "test=true", "api-version=2015-01&test"] {
                let headers = Self.headers("apple")
                let answer = try await hub.call(
                    .post,
                    "/default/messages?\(flag)",
                    body: Self.payload,
                    headers: headers
                )
                // No device is there.
                #expect(
                    answer.status == 201 && answer.header("Content-Type") == WireNames.xml,
                    "\(flag): \(answer.text)"
                )
                #expect(answer.text.hasPrefix("<NotificationOutcome xmlns=\"\(WireNames.connect)\""), "\(answer.text)")
                let names = try XMLReader.read(answer.bytes).elements.map(\.name)
                #expect(names == ["Success", "Failure", "Results"])
            }
        }
    }

    // MARK: Scheduled sends

    @Test("A scheduled send is cancelled with 200 and nothing in it, as often as it is asked; another id is 404")
    func cancelling() async throws {
        try await HubHarness.run { hub in
            let form = try #require(Self.forms().last)
            let headers = Self.headers("apple", form.headers)
            let sent = try await hub.call(.post, "/default/\(form.path)", body: Self.payload, headers: headers)
            let id = try await hub.job(of: sent).id
            for path in [
                "schedulednotifications/\(id)?api-version=2020-06", "ScheduledNotifications/\(id)/?api-version=2015-01",
            ] {
                let answer = try await hub.call(.delete, "/default/\(path)", as: "Send")
                #expect(answer.status == 200 && answer.bytes.isEmpty, "\(path): \(answer.text)")
                #expect(answer.header("TrackingId") != nil)
            }
            #expect(try await hub.call(.delete, "/default/schedulednotifications/\(id)", as: "Listen").status == 401)
            for wrong in ["x", JobID.make().description] {
                let answer = try await hub.call(.delete, "/default/schedulednotifications/\(wrong)")
                #expect(answer.status == 404)
                #expect(try answer.element("Code") == "404")
            }
            // One that goes out already is no more to be stopped.
            let now = try await hub.call(.post, "/default/messages", body: Self.payload, headers: Self.headers("apple"))
            let running = try await hub.job(of: now).id
            #expect(try await hub.call(.delete, "/default/schedulednotifications/\(running)").status == 409)
            // There is neither a list nor an answer to a read, in the original too.
            #expect(try await hub.call(.get, "/default/schedulednotifications/\(id)").status == 404)
            #expect(try await hub.call(.get, "/default/schedulednotifications").status == 404)
        }
    }

    // MARK: Jobs, feedback, hubs

    @Test("What is not offered is said: an empty list of jobs, and reasons")
    func jobsAndFeedback() async throws {
        try await HubHarness.run { hub in
            let job = """
                <entry xmlns="http://www.w3.org/2005/Atom"><content type="application/atom+xml;type=entry;charset=utf-8">\
                <NotificationHubJob xmlns="\(WireNames.connect)"><Type>ExportRegistrations</Type>\
                <OutputContainerUri><![CDATA[https://x/y?sas]]></OutputContainerUri></NotificationHubJob></content></entry>
                """
            for (method, path, body, word) in [
                (HTTPRequest.Method.post, "jobs?api-version=2014-09", job, "pushline registrations"),
                (.get, "jobs/0123456789?api-version=2014-09", nil, "pushline registrations"),
                (.get, "feedbackcontainer?api-version=2015-01", nil, "deliveries"),
                (.get, "?api-version=2014-09", nil, "pushline apps"),
            ] as [(HTTPRequest.Method, String, String?, String)] {
                let answer = try await hub.call(method, "/default/\(path)", body: body)
                #expect(answer.status == 400 && answer.text.contains(word), "\(path): \(answer.text)")
                #expect(try answer.element("Code") == "400")
            }
            let list = try await hub.call(.get, "/default/Jobs/?api-version=2014-09")
            // The Java client looks for the bare name.
            #expect(
                list.status == 200 && list.text.hasPrefix("<feed xmlns=\"http://www.w3.org/2005/Atom\""),
                "\(list.text)"
            )
            #expect(try list.registrations.isEmpty)
            // A list of hubs is not a hub's, and Access Control has ended.
            #expect(try await hub.call(.get, "/$Resources/NotificationHubs/?api-version=2014-09").status == 404)
            let wrap = ["Authorization": "WRAP access_token=\"x\""]
            #expect(try await hub.call(.get, "/default/jobs", as: nil, headers: wrap).status == 401)
            for path in ["jobs", "feedbackcontainer"] {
                #expect(try await hub.call(.get, "/default/\(path)", as: "Listen").status == 401)
            }
        }
    }

    // MARK: Telemetry

    @Test("Telemetry has the order of .NET and bare names, for every audience")
    func telemetry() async throws {
        try await HubHarness.run { hub in
            let order = [
                "NotificationId", "Location", "State", "EnqueueTime", "StartTime", "EndTime", "NotificationBody",
                "Tags",
                "TargetPlatforms", "ApnsOutcomeCounts", "MpnsOutcomeCounts", "WnsOutcomeCounts", "GcmOutcomeCounts",
                "AdmOutcomeCounts", "PnsErrorDetailsUri", "FcmOutcomeCounts", "FcmV1OutcomeCounts",
                "BaiduOutcomeCounts", "BrowserOutcomeCounts",
            ]
            for (format, body, tags, platforms) in [
                ("apple", Self.payload, "a && !b", "apple"), ("windows", Self.toast, nil, "windows"),
                ("fcmv1", #"{"message":{"data":{"a":"<b>&"}}}"#, nil, "fcmv1"), ("template", #"{"a":"1"}"#, "a", nil),
            ] as [(String, String, String?, String?)] {
                var headers = Self.headers(format, ["X-WNS-Type": "wns/toast"])
                headers["ServiceBusNotification-Tags"] = tags
                let sent = try await hub.call(.post, "/default/messages", body: body, headers: headers)
                #expect(sent.status == 201, "\(format): \(sent.text)")
                let id = try await hub.job(of: sent).id
                let answer = try await hub.call(.get, "/default/messages/\(id)?api-version=2020-06", as: "Send")
                #expect(answer.text.hasPrefix("<NotificationDetails xmlns=\"\(WireNames.connect)\""), "\(answer.text)")
                let names = try XMLReader.read(answer.bytes).elements.map(\.name)
                #expect(names == order.filter(names.contains), "\(names)")
                #expect(try answer.element("State") == "Enqueued" && answer.element("Tags") == tags)
                if let platforms { #expect(try answer.element("TargetPlatforms") == platforms) }
                #expect(try answer.element("Location")?.contains(id.description) == true)
            }
        }
    }

    // MARK: Errors

    @Test("Every refusal is the XML that .NET reads by places: Error in no namespace, Code, Detail")
    func errors() async throws {
        try await HubHarness.run { hub in
            for (method, path, rule, body, status) in [
                (HTTPRequest.Method.post, "registrations", "Full", "<", 400),
                (.put, "registrations/a b", "Full", "", 400),
                (.put, "installations/i", "Full", "{", 400), (.patch, "installations/i", "Full", "{", 400),
                (.get, "registrations", "Listen", nil, 401), (.post, "messages", "Listen", "{}", 401),
                (.get, "registrations/1-1-1", "Listen", nil, 404), (.get, "installations/none", "Listen", nil, 404),
                (.get, "messages/none", "Send", nil, 404), (.get, "nothing", "Full", nil, 404),
                (.post, "messages", "Send", String(repeating: "x", count: 70_000), 413),
            ] as [(HTTPRequest.Method, String, String, String?, Int)] {
                let path = "/default/\(path.replacing(" ", with: "%20"))?api-version=2020-06"
                let answer = try await hub.call(method, path, as: rule, body: body, headers: Self.headers("apple"))
                #expect(answer.status == status, "\(path): \(answer.text)")
                #expect(answer.header("Content-Type") == WireNames.xml)
                let error = try XMLReader.read(answer.bytes)
                #expect(answer.text.hasPrefix("<Error><Code>\(status)</Code><Detail>"), "\(answer.text)")
                #expect(error.elements.map(\.name) == ["Code", "Detail"])
                // With which the service and a client find the request again.
                #expect(error.first("Detail")?.text.contains("TrackingId:") == true, "\(answer.text)")
            }
        }
    }
}
