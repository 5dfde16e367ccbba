import HTTPTypes
import PushModel
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

/// What is done to all that match, and to no more.
@Suite(.undisturbed) struct MatchingTests {
    private static func die(_ api: Harness, _ count: Int, reason: String, queue: String = "q", from first: Int = 0)
        async throws
    {
        for index in 0..<count {
            try await api.store.deadLetter(
                IncomingDeadLetter(
                    queue: queue,
                    type: "x",
                    messageID: "\(queue) \(reason) \(first + index)",
                    app: .default,
                    reason: reason,
                    body: []
                )
            )
        }
    }

    @Test func deadLettersAreGroupedByReason() async throws {
        try await Harness.run { api async throws in
            let root = Harness.As.user("root")
            let none = try await api.call(.get, "/api/dead/groups", as: root)
            #expect(none.json == .members(["items": .array([]), "isComplete": .bool(true)]))
            try await Self.die(api, 2, reason: "few")
            try await Self.die(api, 3, reason: "many")
            try await Self.die(api, 1, reason: "few", queue: "r")
            let answer = try await api.call(.get, "/api/dead/groups", as: root)
            let groups = answer.json["items"]?.elements ?? []
            #expect(groups.map { $0["reason"]?.text } == ["many", "few", "few"], "\(answer.text)")
            #expect(
                groups.map { $0["count"]?.number } == [3, 2, 1] && groups.map { $0["queue"]?.text } == ["q", "q", "r"]
            )
            #expect(groups.map { $0["replayable"]?.number } == [0, 0, 0])
            #expect(answer.json["upTo"]?.text == "6" && groups.first?["example"]?.text == "5")
            let filtered = try await api.call(.get, "/api/dead?queue=r&type=x", as: root)
            #expect(filtered.json["items"]?.elements.map { $0["id"]?.text } == ["6"])
        }
    }

    @Test func whatArrivesMeanwhileIsNotDiscarded() async throws {
        try await Harness.run { api async throws in
            let root = Harness.As.user("root")
            try await Self.die(api, 1100, reason: "gone")
            try await Self.die(api, 1, reason: "other")
            let groups = try await api.call(.get, "/api/dead/groups", as: root).json
            let last = try #require(groups["upTo"]?.text)
            try await Self.die(api, 1, reason: "gone", from: 5000)
            let body = #"{"queue":"q","reason":"gone","upTo":"\#(last)""#
            let first = try await api.call(.post, "/api/dead/discard", as: root, body: body + "}").json
            #expect(first["discarded"]?.number == 1000 && first["left"]?.number == 100)
            let next = try #require(first["next"]?.text)
            let second = try await api.call(.post, "/api/dead/discard", as: root, body: body + #","after":"\#(next)"}"#)
                .json
            #expect(second["discarded"]?.number == 100 && second["left"]?.number == 0 && second["next"] == nil)
            let left = try await api.store.deadLetters(DeadLetterQuery(app: .default)).items
            #expect(left.map(\.reason) == ["gone", "other"])
            let acts = try await api.store.acts(ActQuery(app: .default)).items
            #expect(acts.map(\.result) == ["100 discarded", "1000 discarded"] && acts.allSatisfy { $0.state == .done })
            #expect(acts.allSatisfy { $0.act.target?.hasPrefix("all: q, gone, up to ") == true })
        }
    }

    @Test func deadWorkIsReplayedAndWhatCannotBeStays() async throws {
        try await Harness.run { api async throws in
            let root = Harness.As.user("root")
            let (job, path) = try await DeadLetterTests.dead(api)
            let letter = try #require(try await api.store.deadLetters(DeadLetterQuery(app: .default)).items.first)
            try await api.store.deadLetter(
                IncomingDeadLetter(
                    queue: letter.queue,
                    type: letter.type,
                    messageID: "nobody's",
                    app: .default,
                    reason: letter.reason,
                    body: []
                )
            )
            let reason = JSONValue.string(letter.reason).compactText
            let body = #"{"reason":\#(reason),"upTo":"2"}"#
            let answer = try await api.call(.post, "/api/dead/replay", as: root, body: body)
            #expect(answer.json["replayed"]?.number == 1 && answer.json["refused"]?.number == 1, "\(answer.text)")
            #expect(answer.json["refusals"]?.elements.map { $0["id"]?.text } == ["2"])
            #expect(answer.json["refusals"]?.elements.first?["reason"]?.text?.isEmpty == false)
            #expect(try await api.call(.get, path, as: root).status == 404)
            #expect(try await api.store.job(job, app: .default)?.state.isFinal == false)
            #expect(try await api.store.deadLetters(DeadLetterQuery(app: .default)).items.map(\.id) == [2])
        }
    }

    @Test func matchingSendsAreCancelled() async throws {
        var options = Harness.Options()
        options.hub = .onlyRegisters
        try await Harness.run(options) { api async throws in
            let (root, shop) = (Harness.As.user("root"), try await api.key(.sender, name: "shop"))
            func send(_ label: String, as caller: Harness.As) async throws -> String {
                let body = #"{"to":{"tag":"news"},"body":"x","label":"\#(label)"}"#
                return try #require(try await api.call(.post, "/api/sends", as: caller, body: body).json["id"]?.text)
            }
            func state(_ id: String) async throws -> String? {
                try await api.call(.get, "/api/jobs/\(id)", as: root).json["state"]?.text
            }
            func cancel(_ body: String) async throws -> JSONValue {
                let answer = try await api.call(.post, "/api/jobs/cancel", as: root, body: body)
                #expect(answer.status == 200, "\(answer.text)")
                return answer.json
            }
            let spring = try await [send("spring", as: shop), send("spring", as: root)]
            let (summer, last) = try await (send("summer", as: shop), send("spring", as: root))
            let later = try await send("spring", as: root)
            _ = try await api.register()
            let dry = try await cancel(#"{"label":"spring","upTo":"\#(last)","dryRun":true}"#)
            #expect(dry["matched"]?.number == 3 && dry["cancelled"]?.number == 0 && dry["left"]?.number == 3)
            #expect(try await state(spring[0]) == "queued")
            let answer = try await cancel(#"{"label":"spring","upTo":"\#(last)"}"#)
            #expect(answer["matched"]?.number == 3 && answer["cancelled"]?.number == 3 && answer["left"]?.number == 0)
            for id in spring + [last] { #expect(try await state(id) == "cancelled") }
            for id in [summer, later] { #expect(try await state(id) == "queued") }
            #expect(try await cancel(#"{"key":"shop","state":"queued","upTo":"\#(later)"}"#)["cancelled"]?.number == 1)
            #expect(try await state(summer) == "cancelled")
            #expect(try await cancel(#"{"state":"queued","upTo":"\#(last)"}"#)["matched"]?.number == 0)
            #expect(try await state(later) == "queued")
            let acts = try await api.store.acts(ActQuery(app: .default, kind: .jobCancel)).items
            #expect(acts.last?.act.target == "all: label spring, up to \(last)" && acts.last?.result == "3 cancelled")
        }
    }

    /// A filter of nothing is not everything.
    @Test func aFilterOfNothingIsRefused() async throws {
        try await Harness.run { api async throws in
            let (root, job) = (Harness.As.user("root"), JobID.make())
            let bodies = [
                ("/api/jobs/cancel", #"{"upTo":"\#(job)"}"#), ("/api/jobs/cancel", #"{"label":"x"}"#),
                ("/api/jobs/cancel", #"{"label":"x","upTo":"\#(job)"}"#),
                ("/api/jobs/cancel", #"{"state":"completed","upTo":"\#(job)"}"#),
                ("/api/jobs/cancel", #"{"label":null,"upTo":"\#(job)"}"#), ("/api/jobs/cancel", "{}"),
                ("/api/dead/replay", #"{"upTo":"1"}"#), ("/api/dead/replay", #"{"reason":"r"}"#),
                ("/api/dead/discard", #"{"upTo":"1"}"#), ("/api/dead/discard", #"{"reason":"r","upTo":1}"#),
                ("/api/dead/discard", #"{"reason":"r","upTo":"0"}"#),
                ("/api/dead/discard", #"{"reasons":"r","upTo":"1"}"#),
            ]
            for (path, body) in bodies {
                #expect(try await api.call(.post, path, as: root, body: body).status == 400, "\(path) \(body)")
            }
            for path in ["/api/jobs/cancel", "/api/dead/replay", "/api/dead/discard"] {
                #expect(
                    try await api.call(.post, path, as: .user("desk"), body: #"{"reason":"r","upTo":"1"}"#).status
                        == 403
                )
            }
            #expect(try await api.call(.get, "/api/dead/groups", as: .user("desk")).status == 403)
            #expect(try await api.store.acts(ActQuery(app: .default)).items.isEmpty)
        }
    }
}
