import Broker
import HTTPTypes
import PushModel
import Store
import Testing
import Undisturbed

@testable import HTTPAPI
@testable import WebServing

@Suite(.undisturbed) struct DeadLetterTests {
    static let token = String(repeating: "ab", count: 32)

    /// A send to a device whose page died.
    static func dead(_ api: Harness, prefix: String = "/api/") async throws -> (job: JobID, path: String) {
        _ = try await api.register(handle: Self.token, tags: #"["news"]"#)
        let new = NewJob(
            app: .default,
            work: .send(
                SendRequest(
                    audience: .tag(try PushModel.Tag("news", .folded)),
                    content: .message(.init(title: nil, body: "secret words"))
                )
            ),
            lifetime: .seconds(3600)
        )
        let accepted = try await api.store.accept([new])
        guard case .accepted(let job) = accepted.answers.first, let message = accepted.messages.first else {
            throw Problem.notFound("no job")
        }
        let (_, deliveries) = try await Self.fanOut(message.id, api: api)
        let key = BatchKey(job: job.id, pns: .apns, page: 0, attempt: 0)
        var devices = DeliverBatch.Devices()
        devices.rows = [1]
        devices.handles.append(Self.token.utf8)
        let batch = DeliverBatch(
            app: .default,
            key: key,
            priority: .normal,
            expires: job.expires,
            keepUntil: nil,
            collapse: nil,
            payload: NativePayload(kind: .alert, body: Array("secret words".utf8)),
            devices: devices
        )
        let dead = OutgoingMessage(DeliveryMessage(batches: [batch]), as: try #require(deliveries.first))
        try await api.store.deadLetter(
            IncomingDeadLetter(
                queue: dead.routingKey,
                type: dead.properties.type,
                messageID: dead.properties.messageID,
                app: .default,
                reason: "redelivered 6 times, never completed",
                body: dead.body
            )
        )
        let letter = try #require(try await api.store.deadLetters(DeadLetterQuery(app: .default, limit: 1)).items.first)
        return (job.id, "\(prefix)dead/\(letter.id)")
    }

    /// Divides the one send of a message into a batch for each service.
    ///
    /// - Returns: The devices, and the delivery messages.
    static func fanOut(_ message: MessageID, api: Harness) async throws -> (rows: [Int64], [OutboxMessage]) {
        let claim = try #require(try await api.store.claim(message, peeking: false))
        var rows: [Int64] = []
        let step: FanOutStep
        switch try await api.store.work(of: claim) {
        case nil: throw Problem.notFound("nothing is to be fanned out")
        case .group(let sends, _):
            var group = GroupStep()
            for send in sends {
                guard case .all(let reaches) = send.audience else { throw Problem.notFound("a large audience") }
                var batches: [SinglePage] = []
                for reach in reaches {
                    rows += reach.devices.rows
                    batches.append(
                        SinglePage(pns: reach.pns, size: reach.devices.rows.count, message: group.messages)
                    )
                    group.messages += 1
                }
                group.sends.append(
                    FanOutSend(sequence: send.sequence, decision: .batches(batches, through: send.through))
                )
            }
            step = .group(group)
        case .campaign: throw Problem.notFound("a campaign")
        }
        guard case .written(let written) = try await api.store.commit(step, of: claim) else {
            throw Problem.notFound("nothing was written")
        }
        return (rows, written.deliveries.compactMap { $0 })
    }

    @Test(arguments: ["/api/", "/api/apps/default/"]) func aDeadLetterIsListedReplayedAndThenGone(prefix: String)
        async throws
    {
        try await Harness.run { api async throws in
            let (job, path) = try await Self.dead(api, prefix: prefix)
            let key = try await api.key(.operator)
            let list = try await api.call(.get, "\(prefix)dead", as: key)
            #expect(list.json["items"]?.elements.compactMap { $0["href"]?.text } == [path])
            #expect(list.json["cursor"] == nil)
            let reason = "redelivered%206%20times,%20never%20completed"
            for (filter, count) in [
                ("job=\(job)", 1), ("job=\(job)&reason=\(reason)", 1), ("reason=another", 0),
                ("job=\(JobID.make())", 0),
            ] {
                let found = try await api.call(.get, "\(prefix)dead?\(filter)", as: key)
                #expect(found.json["items"]?.elements.count == count, "\(filter): \(found.text)")
            }
            let shown = try await api.call(.get, path, as: key)
            #expect(shown.status == 200, "\(shown.text)")
            #expect(shown.json["job"]?.text == job.description)
            #expect(shown.json["canReplay"] == .bool(true))
            #expect(shown.json["contents"]?["devices"]?.number == 1)
            #expect(shown.json["contents"]?["service"]?.text == "apns")
            #expect(shown.json["contents"]?["handles"]?.elements.compactMap(\.text) == ["abab…abab"])
            // Whoever has the whole handle may send to the device, and what is said is for its reader.
            #expect(!shown.text.contains(Self.token))
            // The number of its message counts what all apps do.
            #expect(shown.json["message"] == nil)
            #expect(!shown.text.contains("secret words"))
            let replayed = try await api.call(.post, "\(path)/replay", as: key)
            #expect(replayed.status == 202, "\(replayed.text)")
            #expect(replayed.json["devices"]?.number == 1)
            #expect(replayed.json["href"]?.text == "\(prefix)jobs/\(job)")
            #expect(try await api.call(.get, "\(prefix)jobs/\(job)", as: key).json["isFinal"] == .bool(false))
            for (method, path) in [(HTTPRequest.Method.post, "\(path)/replay"), (.get, path), (.delete, path)] {
                #expect(try await api.call(method, path, as: key).status == 404)
            }
            #expect(try await api.store.audit(after: 0, limit: 100).faults == [])
        }
    }

    /// Its workers died behind the change, which is in force and which nobody knows of: a refusal would say that it is not.
    @Test func aChangeWhoseMessageIsDeadIsToBeRepeated() async throws {
        var options = Harness.Options()
        options.hub = .dies
        try await Harness.run(options) { api async throws in
            let id = RegistrationID.random()
            let body = #"{"Platform":"apns","Handle":"\#(Self.token)"}"#
            let answer = try await api.call(.put, "/api/register/\(id)", as: .user("alice"), body: body)
            #expect(answer.status == 503 && answer.headers[.retryAfter] == "5", "\(answer.text)")
            let detail =
                "it is not known whether the change was made: its message could not be worked on; repeating it is safe"
            #expect(answer.json["detail"]?.text == detail)
            let job = try #require(answer.headers[.job])
            let shown = try await api.call(.get, "/api/jobs/\(job)", as: try await api.key(.operator))
            #expect(shown.json["state"]?.text == "abandoned")
            #expect(shown.json["result"]?["status"]?.text == "unknown")
            #expect(try await api.store.registration(id, app: .default)?.state == .live)
        }
    }

    @Test func aRefusedReplayHasAReason() async throws {
        try await Harness.run { api async throws in
            let key = try await api.key(.operator)
            try await api.store.deadLetter(
                IncomingDeadLetter(
                    queue: "q\u{1B}",
                    type: "deliver",
                    messageID: "nonsense",
                    app: .default,
                    reason: "r",
                    body: [9, 9]
                )
            )
            let list = try await api.call(.get, "/api/dead", as: key)
            let item = try #require(list.json["items"]?.elements.first)
            #expect(item["canReplay"] == .bool(false))
            let path = try #require(item["href"]?.text)
            let shown = try await api.call(.get, path, as: key)
            #expect(shown.json["contents"]?["unreadable"]?.text?.contains("it could not be read") == true)
            let refused = try await api.call(.post, "\(path)/replay", as: key)
            #expect(refused.status == 409)
            #expect(
                refused.json["detail"]?.text
                    == "this dead letter cannot be replayed: it names no work, so it is not known what it was for"
            )
            #expect(try await api.call(.delete, path, as: key).status == 204)
            #expect(try await api.call(.get, path, as: key).status == 404)
        }
    }

    /// It may be any app's.
    @Test func whatNamesNoDeclaredAppIsNotTheDefaultApps() async throws {
        try await Harness.run { api async throws in
            let key = try await api.key(.operator)
            try await api.store.deadLetter(
                IncomingDeadLetter(queue: "q", type: "deliver", messageID: "m", app: nil, reason: "r", body: [1])
            )
            #expect(try await api.call(.get, "/api/dead", as: key).json["items"]?.elements.isEmpty == true)
            #expect(try await api.call(.get, "/api/dead/1", as: key).status == 404)
        }
    }

    @Test func unknownDeadLettersAndWrongParametersAreRefused() async throws {
        try await Harness.run { api async throws in
            let key = try await api.key(.operator)
            for id in ["0", "-1", "x", "01", "9223372036854775808", "%00", "1%2F2"] {
                #expect(try await api.call(.get, "/api/dead/\(id)", as: key).status == 404)
                #expect(try await api.call(.post, "/api/dead/\(id)/replay", as: key).status == 404)
            }
            for (path, member) in [
                ("/api/dead?limit=0", "limit"), ("/api/dead?cursor=x", "cursor"), ("/api/dead?a=b", "a"),
                ("/api/dead?job=x", "job"),
            ] {
                #expect(try await api.call(.get, path, as: key).wrongMembers == [member])
            }
        }
    }
}
