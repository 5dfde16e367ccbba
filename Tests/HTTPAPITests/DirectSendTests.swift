import HTTPTypes
import PushModel
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

/// Sends to handles, to registrations and to all.
@Suite(.undisturbed) struct DirectSendTests {
    private static let token = String(repeating: "ab", count: 32)

    private static func handles(_ values: String...) -> String {
        #"{"to":{"handles":[\#(values.joined(separator: ","))]},"body":"x"}"#
    }

    private static func handle(_ handle: String = token, pns: String = "apns", reference: String? = nil) -> String {
        let reference = reference.map { #","reference":"\#($0)""# } ?? ""
        return #"{"service":"\#(pns)","handle":"\#(handle)"\#(reference)}"#
    }

    @Test func handlesAreAcceptedOnceEach() async throws {
        var options = Harness.Options()
        options.hub = .isSilent
        try await Harness.run(options) { api async throws in
            let upper = Self.token.uppercased()
            let body = Self.handles(
                Self.handle(reference: "mine"),
                Self.handle(upper, reference: "same"),
                Self.handle("f", pns: "fcm")
            )
            let answer = try await api.call(.post, "/api/sends", as: .user("desk"), body: body)
            #expect(answer.status == 202, "\(answer.text)")
            #expect(answer.json["recipients"]?["kind"]?.text == "handles")
            #expect(answer.json["recipients"]?["given"]?.number == 3)
            #expect(answer.json["recipients"]?["count"]?.number == 2)
            #expect(answer.json["to"] == nil)
            #expect(answer.json["expression"] == nil)
            #expect(!answer.text.contains(Self.token))
            let job = try await api.call(.get, try #require(answer.headers[.location]), as: .user("desk"))
            #expect(job.json["recipients"] == answer.json["recipients"])
            let id = try #require(answer.json["id"]?.text.flatMap(JobID.init))
            let found = try #require(try await api.store.job(id, app: .default))
            let page = try await api.store.audience(
                AudienceQuery(.recipients(ofJob: found.sequence), app: .default, pns: .apns, limit: 10)
            )
            #expect(page.handles == HandleList([Handle(stored: Self.token)]))
            #expect(page.rows.map(Recipient.place) == [1])
        }
    }

    @Test func aSendToRegistrationsSaysHowManyThereAre() async throws {
        try await Harness.run { api async throws in
            let id = try await api.register()
            let body = #"{"to":{"registrations":["\#(id)","unknown","\#(id)"]},"body":"x"}"#
            let answer = try await api.call(.post, "/api/sends", as: .user("desk"), body: body)
            #expect(answer.status == 202, "\(answer.text)")
            #expect(answer.json["recipients"]?["kind"]?.text == "registrations")
            #expect(answer.json["recipients"]?["given"]?.number == 3)
            #expect(answer.json["recipients"]?["count"]?.number == 1)
        }
    }

    @Test func aSendToAllSaysSo() async throws {
        try await Harness.run { api async throws in
            let body = #"{"to":{"all":true},"body":"x"}"#
            let answer = try await api.call(.post, "/api/sends", as: .user("desk"), body: body)
            #expect(answer.status == 202, "\(answer.text)")
            #expect(answer.json["recipients"]?["kind"]?.text == "all")
        }
    }

    @Test(arguments: [
        handles(handle()), #"{"to":{"registrations":["a"]},"body":"x"}"#, #"{"to":{"all":true},"body":"x"}"#,
    ])
    func aUserMayNot(body: String) async throws {
        try await Harness.run { api async throws in
            #expect(try await api.call(.post, "/api/sends", body: body).status == 403)
            #expect(try await api.call(.post, "/api/sends/count", body: body).status == 403)
            let key = try await api.key(.user)
            #expect(try await api.call(.post, "/api/sends", as: key, body: body).status == 403)
            let line = try await api.call(.post, "/api/sends/batch", body: body)
            #expect(line.text.contains(#""status":403"#), "\(line.text)")
            #expect(try await api.call(.post, "/api/sends", as: .user("root"), body: body).status == 202)
            #expect(
                try await api.call(.post, "/api/sends", as: api.key(.sender, name: "shop"), body: body).status == 202
            )
        }
    }

    @Test(arguments: [
        (#"{"to":{"handles":[]},"body":"x"}"#, "to.handles"),
        (#"{"to":{"handles":{}},"body":"x"}"#, "to.handles"),
        (#"{"to":{"handles":"a"},"body":"x"}"#, "to.handles"),
        (#"{"to":{"handles":[],"all":true},"body":"x"}"#, "to"),
        (handles("7"), "to.handles[0]"),
        (handles("null"), "to.handles[0]"),
        (handles("{}"), "to.handles[0].service"),
        (handles(handle(), #"{"service":"apns"}"#), "to.handles[1].handle"),
        (handles(#"{"service":"adm","handle":"a"}"#), "to.handles[0].service"),
        (handles(#"{"service":7,"handle":"a"}"#), "to.handles[0].service"),
        (handles(#"{"service":"apns","handle":["a"]}"#), "to.handles[0].handle"),
        (handles(#"{"service":"fcm","handle":"a","handle":"b"}"#), "to.handles[0].handle"),
        (handles(#"{"service":"fcm","handle":"a","user":"b"}"#), "to.handles[0].user"),
        (handles(handle("xyz")), "to.handles[0].handle"),
        (handles(handle("a\\u0000b", pns: "fcm")), "to.handles[0].handle"),
        (handles(handle("https://evil.example/notify.windows.com", pns: "wns")), "to.handles[0].handle"),
        (handles(handle(reference: "")), "to.handles[0].reference"),
        (handles(handle(reference: "a\\u0000")), "to.handles[0].reference"),
        (handles(handle(reference: String(repeating: "é", count: 201))), "to.handles[0].reference"),
        (handles(#"{"service":"fcm","handle":"a","reference":1}"#), "to.handles[0].reference"),
        (#"{"to":{"registrations":[]},"body":"x"}"#, "to.registrations"),
        (#"{"to":{"registrations":["a",7]},"body":"x"}"#, "to.registrations[1]"),
        (#"{"to":{"registrations":["a/b"]},"body":"x"}"#, "to.registrations[0]"),
        (#"{"to":{"all":false},"body":"x"}"#, "to.all"),
        (#"{"to":{"all":1},"body":"x"}"#, "to.all"),
    ])
    func theRefusalNamesTheWrongPlace(body: String, member: String) async throws {
        try await Harness.run { api async throws in
            let answer = try await api.call(.post, "/api/sends", as: .user("desk"), body: body)
            #expect(answer.status == 400, "\(answer.text)")
            #expect(answer.wrongMembers == [member], "\(answer.text)")
            #expect(try await api.store.jobs(JobQuery(app: .default)).items.isEmpty)
        }
    }

    @Test func theFirstTenWrongPlacesAreNamed() async throws {
        try await Harness.run { api async throws in
            let values = [Self.handle()] + Array(repeating: Self.handle("xyz"), count: 30)
            let body = #"{"to":{"handles":[\#(values.joined(separator: ","))]},"body":"x"}"#
            let answer = try await api.call(.post, "/api/sends", as: .user("desk"), body: body)
            #expect(answer.wrongMembers == (1...10).map { "to.handles[\($0)].handle" })
        }
    }

    @Test(arguments: [20_000, 20_001]) func aListHasAMaximum(count: Int) async throws {
        try await Harness.run { api async throws in
            let values = (0..<count).map { Self.handle("device-\($0)-\(Self.token)\(Self.token)", pns: "fcm") }
            let body = #"{"to":{"handles":[\#(values.joined(separator: ","))]},"body":"x"}"#
            let answer = try await api.call(.post, "/api/sends", as: .user("desk"), body: body)
            #expect(answer.status == (count > 20_000 ? 400 : 202), "\(answer.text)")
            #expect(answer.wrongMembers == (count > 20_000 ? ["to.handles"] : []))
        }
    }

    @Test func listsAreCounted() async throws {
        try await Harness.run { api async throws in
            let id = try await api.register()
            func count(_ body: String) async throws -> [Double?] {
                let answer = try await api.call(.post, "/api/sends/count", as: .user("desk"), body: body)
                #expect(answer.json["isComplete"] == .bool(true), "\(answer.text)")
                return [answer.json["total"]?.number, answer.json["counts"]?["fcm"]?.number]
            }
            let handles = [Self.handle(), Self.handle(), Self.handle("f", pns: "fcm")].joined(separator: ",")
            #expect(try await count(#"{"to":{"handles":[\#(handles)]}}"#) == [2, 1])
            #expect(try await count(#"{"to":{"handles":[\#(handles)]},"services":["fcm"]}"#) == [1, 1])
            #expect(try await count(#"{"to":{"registrations":["\#(id)","unknown"]}}"#) == [1, 0])
            #expect(try await count(#"{"to":{"all":true}}"#) == [1, 0])
            #expect(try await api.store.jobs(JobQuery(app: .default, kind: .send)).items.isEmpty)
        }
    }

    @Test func aRepeatIsTheSameJobAndHasItsListOnce() async throws {
        try await Harness.run { api async throws in
            let headers = ["Idempotency-Key": "k"]
            let body = Self.handles(Self.handle())
            let first = try await api.call(.post, "/api/sends", as: .user("desk"), body: body, headers: headers)
            let again = try await api.call(.post, "/api/sends", as: .user("desk"), body: body, headers: headers)
            #expect(again.status == 202)
            #expect(again.json["id"] == first.json["id"])
            #expect(again.json["recipients"] == first.json["recipients"])
            let other = Self.handles(Self.handle(reference: "r"))
            let changed = try await api.call(.post, "/api/sends", as: .user("desk"), body: other, headers: headers)
            #expect(changed.status == 422)
        }
    }

    @Test func aLineOfManyMayHaveAList() async throws {
        try await Harness.run { api async throws in
            let lines = [
                Self.handles(Self.handle()), Self.handles(Self.handle("xyz")), #"{"to":{"all":true},"body":"x"}"#,
            ]
            let answer = try await api.call(
                .post,
                "/api/sends/batch",
                as: .user("desk"),
                body: lines.joined(separator: "\n")
            )
            let answers = try answer.text.split(separator: "\n").map { try JSONReader.read(Array($0.utf8)) }
            #expect(answers.map { $0["status"]?.number } == [202, 400, 202])
            #expect(answers[1]["member"]?.text == "to.handles[0].handle")
        }
    }
}
