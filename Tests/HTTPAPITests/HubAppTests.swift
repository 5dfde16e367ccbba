import HTTPTypes
import PushModel
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

/// Sends and registrations of an app whose hub is an Azure hub.
@Suite(.undisturbed) struct HubAppTests {
    private static var options: Harness.Options {
        var options = Harness.Options()
        options.hub = .isSilent
        options.spec.azureHub = AppSpec.AzureHub {
            $0.connectionStringFile = "/nowhere"
            $0.name = "news"
            $0.platforms = [.apns, .fcm]
        }
        return options
    }

    private static func send(_ api: Harness, to: String, _ more: String = "") async throws -> Harness.Answer {
        try await api.call(.post, "/api/sends", as: .user("desk"), body: #"{"to":\#(to),"body":"x"\#(more)}"#)
    }

    /// The calls of a send that was accepted.
    private static func calls(_ api: Harness, _ answer: Harness.Answer, _ pns: PushService) async throws -> [Target] {
        let id = try #require(answer.json["id"]?.text.flatMap(JobID.init), "\(answer.text)")
        let job = try #require(try await api.store.job(id, app: .default))
        let page = try await api.store.audience(
            AudienceQuery(.recipients(ofJob: job.sequence), app: .default, pns: pns, limit: 10_000)
        )
        return try (0..<page.handles.count).map { try Target(stored: page.handles.handle(at: $0).text) }
    }

    @Test func aSendBecomesACallForEachService() async throws {
        try await Harness.run(Self.options) { api async throws in
            let answer = try await Self.send(api, to: #"{"tags":"news && !muted"}"#)
            #expect(answer.status == 202, "\(answer.text)")
            #expect(answer.json["expression"]?.text == "news && !muted")
            for pns in [PushService.apns, .fcm] {
                let expression = try TagExpression(parsing: "news && !muted", .folded)
                #expect(try await Self.calls(api, answer, pns) == [.call(expression)])
            }
            let all = try await Self.send(api, to: #"{"all":true}"#, #","services":["fcm"]"#)
            #expect(all.json["recipients"]?["kind"]?.text == "all", "\(all.text)")
            #expect(try await Self.calls(api, all, .apns) == [])
            #expect(try await Self.calls(api, all, .fcm) == [.call(.everyone)])
            let native = try await Self.send(
                api,
                to: #"{"tag":"news"}"#,
                #","native":{"apns":{"payload":{"aps":{"alert":"y"}}}}"#
            )
            #expect(native.status == 202, "\(native.text)")
        }
    }

    @Test func manyUsersAreDividedAndShownInPart() async throws {
        try await Harness.run(Self.options) { api async throws in
            let names = (1...250).map { "\"u\($0)\"" }.joined(separator: ",")
            let answer = try await Self.send(api, to: #"{"users":[\#(names)]}"#)
            #expect(answer.status == 202, "\(answer.text)")
            #expect(answer.json["toCount"]?.number == 250)
            let calls = try await Self.calls(api, answer, .apns)
            #expect(calls.count == 13)
            let named = calls.flatMap { call -> [String] in
                guard case .call(let expression) = call else { return [] }
                return expression.tags.map(\.name)
            }
            #expect(Set(named).count == 250 && named.count == 250)
        }
    }

    @Test func whatTheHubCannotTakeIsRefusedBeforeAnythingIsSent() async throws {
        try await Harness.run(Self.options) { api async throws in
            let tags = (1...7).map { "t\($0)" }.joined(separator: " && ")
            for (to, more, words) in [
                (#"{"tags":"\#(tags)"}"#, "", "at most 6 tags"),
                (#"{"tags":"\#((1...21).map { "t\($0)" }.joined(separator: " || "))"}"#, "", "at most 20 tags"),
                (#"{"users":["a","b="]}"#, "", "knows a user by a tag"),
                (#"{"user":"auth0|5f7c"}"#, "", "knows a user by a tag"),
                (#"{"tags":"news && user('a b')"}"#, "", "knows a user by a tag"),
                (#"{"registrations":["r"]}"#, "", "cannot send to registration ids"),
                (
                    #"{"handles":[{"service":"wns","handle":"https://db5.notify.windows.com/?token=x"}]}"#, "",
                    "apns or fcm"
                ),
                (#"{"tag":"news"}"#, #","services":["wns"]"#, "apns or fcm"),
            ] {
                let answer = try await Self.send(api, to: to, more)
                #expect(answer.status == 422, "\(answer.text)")
                #expect(answer.text.contains(words), "\(answer.text)")
            }
            let broadcast = #"{"to":{"channel":"YQ=="},"liveActivity":{"event":"end"}}"#
            let channel = try await api.call(.post, "/api/sends", as: .user("desk"), body: broadcast)
            #expect(channel.status == 422 && channel.text.contains("broadcast channel"), "\(channel.text)")
            let line = #"{"to":{"tags":"\#(tags)"},"body":"x"}"#
            let lines = try await api.call(
                .post,
                "/api/sends/batch",
                as: .user("desk"),
                body: line,
                headers: ["Content-Type": "application/x-ndjson"]
            )
            #expect(lines.text.contains(#""status":422"#), "\(lines.text)")
            #expect(try await api.store.jobs(JobQuery(app: .default)).items.isEmpty)
        }
    }

    @Test func routesThatNeedTheStoresRegistrationsSayWhy() async throws {
        try await Harness.run(Self.options) { api async throws in
            for (method, path, body) in [
                (HTTPRequest.Method.get, "/api/registrations", nil as String?),
                (.get, "/api/registrations/r", nil), (.get, "/api/registrations/export", nil),
                (.post, "/api/registrations/import", "{}"),
                (.patch, "/api/registrations/r", "{}"), (.post, "/api/sends/count", #"{"to":{"all":true}}"#),
            ] {
                let answer = try await api.call(method, path, as: .user("root"), body: body)
                #expect(answer.status == 422, "\(path): \(answer.text)")
                #expect(answer.text.contains("Azure hub"), "\(answer.text)")
            }
        }
    }

    @Test func aJobShowsItsCalls() async throws {
        try await Harness.run(Self.options) { api async throws in
            let answer = try await Self.send(api, to: #"{"tag":"news"}"#)
            let id = try #require(answer.json["id"]?.text.flatMap(JobID.init))
            let number = Recipient(place: 1, pns: .apns, handle: Handle(stored: "x"), reference: nil).number
            let call = HubCallKey(job: id, pns: .apns, number: number)
            let starts = try await api.store.beginHubCalls([call], lasting: .seconds(30), isWithdrawn: false)
            #expect(starts == [.begun])
            try await api.store.recordHubCalls([call], .ended(.taken(id: "n-1")))
            let said = HubCall.Outcome(state: "Completed", devices: ["Success": 3])
            try await api.store.recordHubCalls([call], .said(.complete(said)))
            let job = try await api.call(.get, "/api/jobs/\(id)", as: .user("desk"))
            #expect(job.json["hub"]?["kind"]?.text == "azure", "\(job.text)")
            #expect(
                job.text.contains(
                    #"{"service":"apns","place":1,"state":"taken","notification":"n-1","telemetry":"complete","outcome":"Completed","devices":{"Success":3}}"#
                )
            )
        }
    }
}
