import HTTPTypes
import HubWire
import PushModel
import Store
import Testing
import Undisturbed
import WebServing

/// Test sends (`?test`), without workers; ``HubTestSendEndToEndTests`` tests the outcomes of devices.
@Suite("Test sends through a hub", .undisturbed)
struct HubTestSendTests {
    private static let payload = #"{"aps":{"alert":"x"}}"#
    private static let path = "/default/messages?test&api-version=2020-06"

    private static func headers(_ format: String = "apple", _ more: [String: String] = [:]) -> [String: String] {
        ["ServiceBusNotification-Format": format].merging(more) { $1 }
    }

    private static func token(_ number: Int) -> String {
        String(repeating: number < 10 ? "0\(number)" : "\(number)", count: 32)
    }

    private static func device(
        _ number: Int,
        _ template: (body: String, expiry: String?)? = nil,
        tag: String? = nil
    ) throws -> ImportedRegistration {
        ImportedRegistration(
            id: RegistrationID("d-\(number)"),
            pns: .apns,
            handle: try Handle(self.token(number), pns: .apns),
            tags: [try Tag(tag ?? (number < 12 ? "some" : "other"), .folded)],
            template: template.map {
                DeviceTemplate(name: "", content: DeviceTemplate.Content(body: $0.body, expiry: $0.expiry))
            }
        )
    }

    private static func add(_ devices: [ImportedRegistration], to hub: HubHarness) async throws {
        _ = try await hub.store.importRegistrations(devices, app: .default, sequence: nil, lifetime: nil)
    }

    /// The elements of each result.
    private static func results(_ answer: HubHarness.Answer) throws -> [[String: String]] {
        let root = try XMLReader.read(answer.bytes)
        #expect(answer.text.hasPrefix("<NotificationOutcome xmlns=\"\(WireNames.connect)\""), "\(answer.text)")
        #expect(root.elements.map(\.name) == ["Success", "Failure", "Results"])
        return try #require(root.first("Results")).elements.map { result in
            #expect(result.name == "RegistrationResult")
            let order = ["ApplicationPlatform", "PnsHandle", "RegistrationId", "Outcome"]
            #expect(result.elements.map(\.name) == order)
            return Dictionary(uniqueKeysWithValues: result.elements.map { ($0.name, $0.text) })
        }
    }

    private static func jobs(_ hub: HubHarness) async throws -> [Job] {
        try await hub.store.jobs(JobQuery(app: .default, kind: .send)).items
    }

    @Test("Without devices there is no job, in each spelling of the flag")
    func nobody() async throws {
        try await HubHarness.run { hub in
            for flag in ["test", "test=true", "api-version=2015-01&test"] {
                let answer = try await hub.call(
                    .post,
                    "/default/messages?\(flag)",
                    as: "Send",
                    body: Self.payload,
                    headers: Self.headers()
                )
                #expect(answer.status == 201 && answer.header("Content-Type") == WireNames.xml, "\(answer.text)")
                #expect(answer.header("Location") == nil && answer.header("TrackingId") != nil)
                #expect(try Self.results(answer).isEmpty)
                #expect(try answer.element("Success") == "0" && answer.element("Failure") == "0")
            }
            #expect(try await Self.jobs(hub).isEmpty)
            #expect(
                try await hub.call(.post, Self.path, as: "Listen", body: Self.payload, headers: Self.headers()).status
                    == 401
            )
        }
    }

    @Test("It is one job to ten devices of the audience at most; what has no outcome in time is said as it stands")
    func tenDevices() async throws {
        try await HubHarness.run(answers: false) { hub in
            try await Self.add(try (0..<14).map { try Self.device($0) }, to: hub)
            for (tags, count) in [("some", 10), ("other", 2), ("other && some", 0)] {
                let answer = try await hub.call(
                    .post,
                    Self.path,
                    body: Self.payload,
                    headers: Self.headers("apple", ["ServiceBusNotification-Tags": tags])
                )
                #expect(answer.status == 201, "\(answer.text)")
                let results = try Self.results(answer)
                #expect(results.count == count, "\(tags): \(answer.text)")
                #expect(results.allSatisfy { $0["Outcome"] == "Enqueued" && $0["ApplicationPlatform"] == "apple" })
                #expect(try answer.element("Success") == "0" && answer.element("Failure") == "0")
                guard count > 0 else { continue }
                let job = try await hub.job(of: answer)
                #expect(
                    try await hub.send(of: answer).audience.listed == count && job.key == "hub:Full",
                    "\(tags)"
                )
                let numbers = tags == "some" ? Array(0..<10) : [12, 13]
                #expect(results.map { $0["RegistrationId"] } == numbers.map { "d-\($0)" })
                #expect(results.map { $0["PnsHandle"] } == numbers.map { Self.token($0) })
            }
            #expect(try await Self.jobs(hub).count == 2)
        }
    }

    @Test("One that is cancelled meanwhile is answered then, and none of its devices has it")
    func cancelled() async throws {
        try await HubHarness.run { hub in
            try await Self.add([try Self.device(1), try Self.device(2)], to: hub)
            async let answer = hub.call(.post, Self.path, body: Self.payload, headers: Self.headers())
            var jobs: [Job] = []
            while jobs.isEmpty {
                try await Task.sleep(for: .milliseconds(20))
                jobs = try await Self.jobs(hub)
            }
            _ = try await hub.store.cancel(try #require(jobs.first).id, app: .default)
            let ended = try await answer
            #expect(ended.status == 201, "\(ended.text)")
            #expect(try Self.results(ended).map { $0["Outcome"] } == ["Canceled", "Canceled"])
            #expect(try ended.element("Success") == "0" && ended.element("Failure") == "2")
        }
    }

    @Test("To templates it is a job for each notification; a template that makes none has its outcome at once")
    func templates() async throws {
        try await HubHarness.run(answers: false) { hub in
            let (one, other) = (##"{"aps":{"alert":"$(a)"}}"##, ##"{"aps":{"alert":"$(b)"}}"##)
            try await Self.add(
                [
                    try Self.device(1, (one, nil)), try Self.device(2, (other, nil)), try Self.device(3, (one, nil)),
                    try Self.device(4, (one, "$(when)")),
                ],
                to: hub
            )
            let answer = try await hub.call(
                .post,
                Self.path,
                body: #"{"a":"A","b":"B","when":"never"}"#,
                headers: Self.headers("template")
            )
            let results = try Self.results(answer)
            #expect(results.map { $0["RegistrationId"] } == (1...4).map { "d-\($0)" }, "\(answer.text)")
            #expect(results[3]["Outcome"]?.hasPrefix("InvalidNotificationFormat: expiry: ") == true, "\(answer.text)")
            #expect(try answer.element("Failure") == "1" && answer.header("Location") == nil)
            let sends = try await Self.jobs(hub).compactMap { job -> (Int?, String)? in
                guard case .send(let send) = job.work, case .native(let native) = send.content else { return nil }
                return (send.audience.listed, String(decoding: native.forms.first?.body ?? [], as: UTF8.self))
            }
            #expect(sends.count == 2)
            #expect(sends.contains { $0 == (2, #"{"aps":{"alert":"A"}}"#) }, "\(sends)")
            #expect(sends.contains { $0 == (1, #"{"aps":{"alert":"B"}}"#) }, "\(sends)")
        }
    }

    @Test("A repeated request is one send")
    func repeated() async throws {
        try await HubHarness.run(answers: false) { hub in
            try await Self.add([try Self.device(1)], to: hub)
            let headers = Self.headers("apple", ["TrackingId": "0b7a7a3e-2c7d-4e58-9d0a-0123456789ab"])
            let first = try await hub.call(.post, Self.path, body: Self.payload, headers: headers)
            let again = try await hub.call(.post, Self.path, body: Self.payload, headers: headers)
            #expect(first.header("Location") != nil && first.header("Location") == again.header("Location"))
            #expect(try await Self.jobs(hub).count == 1)
        }
    }

    @Test("A repetition that finds other devices takes no other notification's job")
    func repeatedForOthers() async throws {
        try await HubHarness.run(answers: false) { hub in
            let (one, other) = (##"{"aps":{"alert":"A"}}"##, ##"{"aps":{"alert":"B"}}"##)
            try await Self.add([try Self.device(1, (one, nil)), try Self.device(2, (other, nil))], to: hub)
            func test(_ format: String, _ body: String) async throws -> HubHarness.Answer {
                let more = [
                    "TrackingId": "0b7a7a3e-2c7d-4e58-9d0a-0123456789ab", "ServiceBusNotification-Tags": "some",
                ]
                return try await hub.call(.post, Self.path, body: body, headers: Self.headers(format, more))
            }
            let first = try await test("template", "{}")
            #expect(try Self.results(first).count == 2)
            #expect(try await Self.jobs(hub).count == 2)
            // The first is no longer one of the audience.
            try await Self.add([try Self.device(1, (one, nil), tag: "gone")], to: hub)
            let again = try await test("template", "{}")
            #expect(try Self.results(again).map { $0["RegistrationId"] } == ["d-2"], "\(again.text)")
            guard case .native(let native) = try await hub.send(of: again).content else {
                Issue.record("the send has no payload")
                return
            }
            #expect(native.forms.first.map { String(decoding: $0.body, as: UTF8.self) } == other)
            #expect(try await Self.jobs(hub).count == 2)
            // Nor does a list with other devices stand for the former one.
            try await Self.add([try Self.device(3), try Self.device(4)], to: hub)
            let both = try await test("apple", Self.payload)
            #expect(try Self.results(both).count == 2)
            try await Self.add([try Self.device(3, tag: "gone")], to: hub)
            let rest = try await test("apple", Self.payload)
            #expect(try Self.results(rest).map { $0["RegistrationId"] } == ["d-4"], "\(rest.text)")
            #expect(try await hub.send(of: rest).audience.listed == 1)
        }
    }

    @Test(
        "Where there is room for some notifications alone, the answer says which; where there is none, 503 stores none"
    )
    func backlog() async throws {
        try await HubHarness.run(answers: false, backlog: 1) { hub in
            let (one, other) = (##"{"aps":{"alert":"A"}}"##, ##"{"aps":{"alert":"B"}}"##)
            try await Self.add([try Self.device(1, (one, nil)), try Self.device(2, (other, nil))], to: hub)
            let answer = try await hub.call(.post, Self.path, body: "{}", headers: Self.headers("template"))
            let results = try Self.results(answer)
            #expect(answer.status == 201 && results.count == 2, "\(answer.text)")
            #expect(results.first?["Outcome"] == "Enqueued")
            #expect(results.last?["Outcome"]?.hasPrefix("not sent: ") == true, "\(answer.text)")
            #expect(try answer.element("Failure") == "1")
            let full = try await hub.call(.post, Self.path, body: "{}", headers: Self.headers("template"))
            #expect(full.status == 503 && full.header("Retry-After") != nil, "\(full.text)")
            #expect(try await Self.jobs(hub).count == 1)
        }
    }

    @Test("Few search an audience at once, and a rule searches one; others are 503")
    func searches() async throws {
        try await HubHarness.run(answers: false) { hub in
            try await Self.add([try Self.device(1)], to: hub)
            func test(_ rule: String) async throws -> HubHarness.Answer {
                try await hub.call(.post, Self.path, as: rule, body: Self.payload, headers: Self.headers())
            }
            func caller(_ rule: String) -> Caller {
                Caller(app: .default, identity: .key("hub:\(rule)"), role: .operator)
            }
            #expect(hub.searches.take(for: caller("Full")))
            let refused = try await test("Full")
            #expect(refused.status == 503 && refused.header("Retry-After") == "1", "\(refused.text)")
            #expect(try await test("Send").status == 201)
            #expect(hub.searches.take(for: caller("other")))
            #expect(try await test("Send").status == 503)
            for rule in ["Full", "other"] { hub.searches.release(of: caller(rule)) }
            #expect(try await test("Full").status == 201)
        }
    }

    @Test("A rule that cannot read registrations gets no whole handle")
    func handles() async throws {
        try await HubHarness.run(answers: false) { hub in
            try await Self.add([try Self.device(1)], to: hub)
            for (rule, handle) in [("Full", Self.token(1)), ("Send", "0101…0101")] {
                let answer = try await hub.call(
                    .post,
                    Self.path,
                    as: rule,
                    body: Self.payload,
                    headers: Self.headers()
                )
                #expect(try Self.results(answer).map { $0["PnsHandle"] } == [handle], "\(answer.text)")
            }
        }
    }
}
