import Foundation
import Testing
import Undisturbed

@testable import PushlineClient
@testable import PushlineCommands

@Suite(.undisturbed) struct OutputTests {
    @Test func tableIsAligned() {
        var table = Table(["name", "count", "note"], numeric: [1])
        table.add(["a", "1", nil])
        table.add(["a longer one", "1000", "x\u{1B}[2J"])
        #expect(
            table.lines == ["name          count  note", "a                 1  -", "a longer one   1000  x\u{FFFD}[2J"]
        )
    }

    @Test func aNarrowColumnIsCut() {
        var table = Table(["job", "to"], narrow: [1])
        let tags = (0..<20).map { "tag-\($0)" }.joined(separator: " || ")
        table.add(["1", tags])
        table.add(["2", String(repeating: "a", count: 40)])
        let widest = "2    " + String(repeating: "a", count: 40)
        #expect(table.lines == ["job  to", "1    \(tags.prefix(39))…", widest])
    }

    @Test(arguments: ["\u{1B}[2J", "\r", "\u{202E}", "\u{9B}", "\n", "\u{2028}"]) func controlCharactersAreReplaced(
        text: String
    ) {
        #expect(Console.safe("a\(text)b").hasPrefix("a\u{FFFD}"))
    }

    @Test func emojiAndAccentsAreKept() {
        #expect(Console.safe("👩‍👩‍👧 é مرحبا") == "👩‍👩‍👧 é مرحبا")
    }

    private func job(_ members: String) throws -> Job {
        let text = """
            {"id":"0190-x","app":"default","kind":"send","priority":"normal","accepted":"2026-11-21T08:30:00.123Z",
            "expires":"2026-11-22T08:30:00.123Z",\(members)}
            """
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            let text = try decoder.singleValueContainer().decode(String.self)
            return try Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text)
        }
        return try decoder.decode(Job.self, from: Data(text.utf8))
    }

    @Test func longUserListsAreShortened() throws {
        let names = (0..<100).map { #""username:u\#($0)""# }.joined(separator: ",")
        let job = try self.job(#""state":"running","isFinal":false,"to":[\#(names)],"toCount":20000"#)
        #expect(JobLines(job: job).lines.contains { $0.contains("username:u4 || 19995 others") })
        let few = try self.job(#""state":"running","isFinal":false,"to":["a","b"]"#)
        #expect(JobLines(job: few).lines.contains { $0.hasSuffix("a || b") })
    }

    @Test func aJobOfAnAzureHubSaysWhatItDoesNotKnow() throws {
        func lines(_ call: String, note: String) throws -> [String] {
            let job = try self.job(
                #""state":"completed","isFinal":true,"hub":{"kind":"azure"\#(note),"calls":[{"service":"apns","place":1,"state":"taken"\#(call)}]}"#
            )
            return JobLines(job: job).lines
        }
        let note = "the hub took it"
        #expect(try lines("", note: #","note":"\#(note)""#).contains { $0.hasPrefix("hub ") && $0.hasSuffix(note) })
        #expect(try !lines("", note: "").contains { $0.hasPrefix("hub ") })
        for (members, words) in [
            (#""telemetry":"pending""#, "not known yet"), (#""telemetry":"ended""#, "not known, and no longer asked"),
            (#""telemetry":"not-offered""#, "not known: the hub's tier has no telemetry"),
            (#""telemetry":"together""#, "see the first handle of its call"),
            (#""telemetry":"pending","outcome":"Processing""#, "Processing, so far"),
            (#""telemetry":"ended","outcome":"Processing""#, "Processing, and no longer asked"),
            (#""telemetry":"complete","outcome":"Completed""#, "taken  Completed"),
        ] {
            #expect(try lines(",\(members)", note: "").contains { $0.contains(words) }, "\(members)")
        }
    }

    @Test func aScheduledSendSaysWhenItStarts() throws {
        let job = try self.job(#""state":"scheduled","isFinal":false,"due":"2026-12-01T08:00:00.000Z","to":["a"]"#)
        let due = try #require(job.due)
        #expect(JobLines(job: job).state == "scheduled for \(JobLines.moment(due))")
        let retrying = try self.job(#""state":"retrying","isFinal":false,"due":"2026-12-01T08:00:00.000Z","to":["a"]"#)
        #expect(JobLines(job: retrying).state == "retrying")
    }

    @Test func aSendStoppedBeforeItsStartShowsThePlannedStart() throws {
        let at = #""at":"2026-12-01T08:00:00.000Z","to":["a"]"#
        let stopped = JobLines(job: try self.job(#""state":"cancelled","isFinal":true,\#(at)"#))
        #expect(stopped.lines.contains("was to start  2026-12-01 08:00:00Z"))
        #expect(stopped.progress == "cancelled, was to start 2026-12-01 08:00:00Z")
        let began = #""started":"2026-12-01T08:00:01.000Z""#
        let done = JobLines(job: try self.job(#""state":"completed","isFinal":true,\#(began),\#(at)"#))
        #expect(done.lines.contains("asked for  2026-12-01 08:00:00Z"))
        #expect(done.progress == "completed")
    }

    /// Nor is a server's answer believed.
    @Test func noNumberOfAServerEndsTheTool() throws {
        for (number, share) in [(Int.max, 1e300), (.min, -1e300), (-1, 0.5)] {
            let failed = #""failed":{"rejected":\#(number),"expired":\#(number)}"#
            let counts =
                #""targets":\#(number),"accepted":\#(number),\#(failed),"expired":1,"cancelled":1,"open":\#(Int.max)"#
            let rest = #""progress":\#(share),"rate":\#(share),"estimate":\#(Int.max),"secondsLeft":\#(number)"#
            let job = try self.job(#""state":"running","isFinal":false,"totals":{\#(counts)},\#(rest)"#)
            #expect(JobLines(job: job).bar != nil)
            #expect(!JobLines(job: job).lines.isEmpty && !JobLines(job: job).progress.isEmpty)
        }
    }

    @Test func aStoppedSendSaysHowManyItReached() throws {
        let counts = #""targets":1000,"accepted":600,"failed":{"rejected":40},"expired":0,"cancelled":360,"open":0"#
        func reached(_ members: String) throws -> String? {
            let job = try self.job(#""isFinal":true,"totals":{\#(counts)},\#(members)"#)
            return JobLines(job: job).lines.first { $0.hasPrefix("reached") }
        }
        let stopped = try reached(#""state":"cancelled","fannedOut":1200,"estimate":3000"#)
        #expect(stopped?.hasSuffix("640 of about 3000 devices") == true)
        #expect(try reached(#""state":"completed""#) == nil)
    }

    @Test func aPausedQueueShowsItsPauses() throws {
        func state(_ members: String) throws -> String {
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .iso8601
            let text = #"{"name":"send","waiting":0\#(members)}"#
            return QueueText.state(try decoder.decode(QueueStatus.self, from: Data(text.utf8)))
        }
        let since = #""since":"2026-11-21T08:30:00Z""#
        #expect(try state(#","paused":false,"pauses":[]"#) == "working")
        #expect(
            try state(#","paused":true,"pauses":[{"allApps":false,"by":"key:k",\#(since)}]"#)
                == "paused by key:k since 2026-11-21 08:30:00Z"
        )
        #expect(
            try state(#","paused":true,"pauses":[{"allApps":true,\#(since)}]"#)
                == "paused for all apps since 2026-11-21 08:30:00Z"
        )
        #expect(
            try state(
                #","paused":true,"pauses":[{"allApps":false,"by":"key:k",\#(since)},{"allApps":true,\#(since)}]"#
            ) == "paused for all apps since 2026-11-21 08:30:00Z, and by key:k since 2026-11-21 08:30:00Z"
        )
    }

    static let counts = #"{"targets":4,"accepted":2,"failed":{"unregistered":1},"expired":0,"cancelled":0,"open":1}"#

    @Test func progress() throws {
        let job = try self.job(
            #""state":"retrying","isFinal":false,"due":"2026-11-21T08:31:00.000Z","totals":\#(Self.counts)"#
        )
        #expect(
            JobLines(job: job).progress
                == "retrying, 3 of 4 devices, 2 accepted, 1 failed (1 unregistered), next try 2026-11-21 08:31:00Z"
        )
    }

    @Test func bar() throws {
        let members = #""state":"running","isFinal":false,"totals":\#(Self.counts),"progress":0.5"#
        let fanningOut = try self.job(members + #","fannedOut":6,"estimate":8,"rate":1.6,"secondsLeft":300"#)
        #expect(
            JobLines(job: fanningOut).bar
                == "[############------------] 50 %, 3 of about 8 devices, 2 a second, 5 min left, 1 failed"
        )
        let fannedOut = try self.job(members + #","fannedOut":6,"estimate":6"#)
        #expect(JobLines(job: fannedOut).bar == "[############------------] 50 %, 3 of 6 devices, 1 failed")
        #expect(JobLines(job: try self.job(#""state":"queued","isFinal":false"#)).bar == nil)
    }

    @Test(arguments: [
        (
            #""running","isFinal":false,"fannedOut":6,"estimate":80,"rate":1.6,"secondsLeft":30"#,
            "running, 3 of about 80 devices, 2 accepted, 1 failed (1 unregistered), 2 a second, 30 s left"
        ),
        (
            #""running","isFinal":false,"fannedOut":8,"estimate":8"#,
            "running, 3 of 8 devices, 2 accepted, 1 failed (1 unregistered)"
        ),
        (#""running","isFinal":false,"fannedOut":8"#, "running, 3 devices done, 2 accepted, 1 failed (1 unregistered)"),
        (#""cancelling","isFinal":false"#, "cancelling, 3 devices done, 2 accepted, 1 failed (1 unregistered)"),
        (#""cancelled","isFinal":true"#, "cancelled, 3 of 4 devices, 2 accepted, 1 failed (1 unregistered)"),
    ])
    func progressIsShownInPercent(members: String, text: String) throws {
        let job = try self.job(#""state":\#(members),"totals":\#(Self.counts)"#)
        #expect(JobLines(job: job).progress == text)
    }

    @Test func severalErrorsAreListed() throws {
        func refusal(_ faults: String, detail: String) -> PushlineError {
            let body = Data(#"{"detail":"\#(detail)","errors":[\#(faults)]}"#.utf8)
            return PushlineError(refusal: HTTPAnswer(status: 400, body: body))
        }
        func fault(_ member: String) -> String { #"{"member":"\#(member)","reason":"is\u001b bad"}"# }
        let several = refusal("\(fault("ttl")),\(fault("to.users[1]"))", detail: "several members are wrong")
        #expect(
            Rejection(error: several).text
                == "several members are wrong (status 400)\n  ttl: is\u{FFFD} bad\n  to.users[1]: is\u{FFFD} bad"
        )
        let list = try UserList(Data("ann\n\nb b\n".utf8))
        #expect(Rejection(error: several, name: list.name).text.hasSuffix("\n  to.users[1], line 3: is\u{FFFD} bad"))
        #expect(
            Rejection(error: refusal(fault("ttl"), detail: "ttl: no"), name: list.name).text == "ttl: no (status 400)"
        )
        let many = refusal((0..<13).map { fault("m\($0)") }.joined(separator: ","), detail: "several")
        #expect(Rejection(error: many).text.split(separator: "\n").count == 12)
        #expect(Rejection(error: many).text.hasSuffix("\n  and 3 more"))
    }

    @Test func relativeTimesAreParsed() throws {
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        #expect(Moment.ahead("+30m", now: now) == now.addingTimeInterval(1800))
        #expect(Moment.ahead("2027-01-15T08:00:00Z", now: now) == now)
        #expect(Moment.ahead("30m", now: now) == nil)
        #expect(Moment.ahead("+soon", now: now) == nil)
    }

    private static let noTargets = #"{"targets":0,"accepted":0,"failed":{},"expired":0,"cancelled":0,"open":0}"#

    @Test func aSendWithoutTargetsSaysWhy() throws {
        let job = try self.job(#""state":"completed","isFinal":true,"totals":\#(Self.noTargets)"#)
        #expect(JobLines(job: job).progress == "completed, no device has such a tag; nothing was sent")
        for (members, words) in [
            (#""to":["username:ann"]"#, "user \"ann\" has no matching device"),
            (#""to":["username:ann","username:bob"]"#, "none of the users has a matching device"),
            (#""to":["news"]"#, "no device has such a tag"),
            (#""expression":"a && b""#, "no device fits the expression"),
            (#""recipients":{"kind":"registrations","given":2,"count":0}"#, "none of the listed devices is registered"),
            (#""recipients":{"kind":"all"}"#, "the app has no registered device"),
        ] {
            let job = try self.job(#""state":"completed","isFinal":true,"totals":\#(Self.noTargets),\#(members)"#)
            #expect(JobLines(job: job).progress == "completed, \(words); nothing was sent")
        }
    }

    @Test func aListIsShownInWords() throws {
        for (list, words) in [
            (#"{"kind":"handles","given":3,"count":2}"#, "2 of 3 handles"),
            (#"{"kind":"handles","given":2,"count":2}"#, "2 handles"),
            (#"{"kind":"handles","given":1,"count":1}"#, "1 handle"), (#"{"kind":"all"}"#, "all"),
        ] {
            let job = try self.job(#""state":"queued","isFinal":false,"recipients":\#(list)"#)
            #expect(JobLines(job: job).target == words)
        }
    }

    @Test func aDeadLetterWithoutAReasonIsShown() throws {
        let text = #"""
            {"id":"7","at":"2026-11-21T08:30:00Z","queue":"q","type":"","message":"","reason":"r","bytes":0,"canReplay":false}
            """#
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        let lines = DeadLetterLines(letter: try decoder.decode(DeadLetter.self, from: Data(text.utf8))).lines
        #expect(lines.contains("type          -"))
        #expect(lines.contains("message       -"))
    }

    @Test func details() throws {
        let job = try self.job(
            #""state":"completed","isFinal":true,"key":"k","to":["a","b"],"counts":{"apns":\#(Self.counts)},"#
                + #""totals":\#(Self.counts)"#
        )
        let lines = JobLines(job: job).lines
        #expect(lines.contains("asked by  key k"))
        #expect(lines.contains("to        a || b"))
        #expect(lines.last == "apns           4         2       1        0          0     1  1 unregistered")
    }

    @Test func jsonOfAJobKeepsMilliseconds() throws {
        let text = try JSONOutput.encoded(self.job(#""state":"completed","isFinal":true"#))
        #expect(text.contains(#""accepted" : "2026-11-21T08:30:00.123Z""#))
    }

    @Test(arguments: [("90s", 90.0), ("30m", 1800), ("2h", 7200), ("7d", 604_800), ("0s", 0)])
    func ago(text: String, seconds: Double) {
        let now = Date(timeIntervalSince1970: 1_000_000_000)
        #expect(Moment.parse(text, now: now) == now.addingTimeInterval(-seconds))
    }

    @Test func moments() {
        #expect(Moment.parse("2026-11-21T08:30:00Z") == Date(timeIntervalSince1970: 1_795_249_800))
        for text in ["", "s", "-5m", "5", "5w", "yesterday", "99999999999999999999d"] {
            #expect(Moment.parse(text) == nil)
        }
    }

    @Test func aWrongAddressIsSaidToBeWrong() {
        let answer = HTTPAnswer(status: 404, body: Data("<html></html>".utf8))
        #expect(
            Rejection(error: PushlineError(refusal: answer, of: "http://h")).text
                == "http://h answered 404, and is not a Pushline API; check --url or PUSHLINE_URL"
        )
    }

    @Test(arguments: [(0, "0 lines"), (1, "1 line"), (2, "2 lines")]) func plurals(count: Int, text: String) {
        #expect(Plural.of(count, "line") == text)
    }

    @Test func pagesEndAtTheLimit() async throws {
        var asked: [Int] = []
        let found = try await Pages.collect(1500) { limit, cursor in
            asked.append(limit)
            let start = Int(cursor ?? "0") ?? 0
            return try Self.page(Array(start..<start + limit), cursor: String(start + limit))
        }
        #expect(found == Array(0..<1500))
        #expect(asked == [1000, 500])
    }

    @Test func pagesEndWithTheList() async throws {
        let found = try await Pages.collect(10) { _, _ in try Self.page([1, 2], cursor: nil) }
        #expect(found == [1, 2])
    }

    private static func page(_ items: [Int], cursor: String?) throws -> Page<Int> {
        let text = #"{"items":\#(items),"cursor":\#(cursor.map { "\"\($0)\"" } ?? "null")}"#
        return try JSONDecoder().decode(Page<Int>.self, from: Data(text.utf8))
    }
}
