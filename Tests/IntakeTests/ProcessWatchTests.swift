import Broker
import Logging
import PushModel
import Testing

@testable import Intake

/// What processes say of themselves, and what is made of it.
@Suite struct ProcessWatchTests {
    private static func report(_ id: String, role: String = "delivery-worker") -> ProcessReport {
        ProcessReport(id: id, role: role, host: "a", pid: 7, version: "0.2.0")
    }

    private static func watch() -> ProcessWatch {
        ProcessWatch(own: "own", broker: InMemoryBroker(), logger: Logger(label: "test"))
    }

    private static func states(_ watch: ProcessWatch, _ now: ContinuousClock.Instant) -> [String: ProcessWatch.State] {
        Dictionary(uniqueKeysWithValues: watch.processes(now: now).seen.map { ($0.report.id, $0.state) })
    }

    /// The watch's own process is heard every 5 seconds of the interval.
    private static func hearOwn(_ watch: ProcessWatch, _ seconds: ClosedRange<Int>, from start: ContinuousClock.Instant)
    {
        for second in stride(from: seconds.lowerBound, through: seconds.upperBound, by: 5) {
            watch.hear(Self.report("own", role: "api"), at: start + .seconds(second))
        }
    }

    @Test func whatIsWrittenIsRead() throws {
        var report = Self.report("x")
        (report.port, report.memory, report.work) = (9103, 50_000_000, ["default": 3])
        report.breakers = [.init(app: .default, service: "apns", credential: nil, reason: "APNs fails: 503")]
        report.refusals = [
            .init(
                app: .default,
                service: "fcm",
                credential: "old",
                reason: "invalid_grant",
                since: Timestamp(milliseconds: 2)
            )
        ]
        report.endings = [.init(app: nil, setting: "api.certificate_file", end: Timestamp(milliseconds: 1))]
        #expect(ProcessReport(try report.encoded()) == report)
        #expect(report.isComplete)
    }

    /// Whatever there is to say, it is said in 2 KB, and what is left out is not taken for nothing.
    @Test func aReportFitsWhateverThereIs() throws {
        var report = Self.report("x")
        report.host = String(repeating: "ä\n\u{202E}", count: 500)
        var work: [String: Int] = [:]
        for number in 0..<300 { work["\(String(repeating: "a", count: 36))\(number)"] = number }
        report.work = work
        for number in 0..<50 {
            let app = try AppID("app-\(number)")
            let reason = String(repeating: "\"\\😀", count: 400)
            report.breakers.append(.init(app: app, service: "apns", credential: "second", reason: reason))
            report.refusals.append(
                .init(app: app, service: "apns", credential: "second", reason: reason, since: .now)
            )
            report.endings.append(.init(app: app, setting: "apns.certificate_file", end: .now))
        }
        let bytes = try report.encoded()
        #expect(bytes.count <= ProcessReport.maximumSize)
        let read = try #require(ProcessReport(bytes))
        #expect(!read.isComplete && read.pid == 7)
        #expect(!read.breakers.isEmpty && read.breakers.first?.app.name == "app-0")
        #expect(!read.refusals.isEmpty && read.refusals.first?.app.name == "app-0")
        let most = try #require(read.work?.values.max())
        #expect(most == 299)
        #expect(!read.host.unicodeScalars.contains("\n") && !read.host.unicodeScalars.contains("\u{202E}"))
    }

    private static func body(_ changes: KeyValuePairs<String, String>) -> [UInt8] {
        var members = [
            "id": "\"x\"", "role": "\"api\"", "host": "\"h\"", "pid": "1", "version": "\"1\"", "breakers": "[]",
            "refusals": "[]", "endings": "[]", "isComplete": "true", "isLast": "false",
        ]
        for (name, value) in changes { members[name] = value }
        return Array("{\(members.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ","))}".utf8)
    }

    @Test func numbersBeyondAllMeasureAreClamped() throws {
        let largest = "9223372036854775807"
        let read = try #require(
            ProcessReport(
                Self.body([
                    "pid": "-\(largest)", "memory": largest, "port": "70000",
                    "work": #"{"default":\#(largest),"shop":-1,"no app!":1}"#,
                    "refusals":
                        #"[{"app":"default","service":"\u001b[2Japns","reason":"\#(String(repeating: "r", count: 300))","since":-1}]"#,
                    "endings": #"[{"setting":"\u001b[2Jx","end":\#(largest)},{"setting":"y","end":-\#(largest)}]"#,
                    "host": "\"\(String(repeating: "h", count: 300))\"",
                ])
            )
        )
        #expect(read.pid == 0 && read.port == nil && read.host.count == 100)
        #expect(read.memory == 1 << 50)
        #expect(read.work == ["default": Int(Int32.max), "shop": 0])
        #expect(read.refusals.map(\.service) == ["[2Japns"] && read.refusals.first?.reason.count == 200)
        #expect(read.refusals.map(\.since.milliseconds) == [0])
        #expect(read.endings.map(\.setting) == ["[2Jx", "y"])
        #expect(read.endings.map(\.end.iso8601) == ["9999-12-31T23:59:59.999Z", "1970-01-01T00:00:00.000Z"])
        #expect(!read.isComplete)
    }

    @Test func whatIsNoReportIsIgnored() {
        #expect(ProcessReport(Self.body([:])) != nil)
        for body in [
            [], Array("x".utf8), Array("[]".utf8), [0xFF, 0xFE], Array(repeating: UInt8(ascii: "["), count: 2048),
            Self.body(["pid": "1e400"]), Self.body(["pid": "92233720368547758070"]), Self.body(["id": "\"\""]),
            Self.body(["breakers": #"[{"app":"No App","service":"apns","reason":"r"}]"#]), Self.body(["work": "[]"]),
            Self.body(["host": "\"\(String(repeating: "h", count: 2048))\""]),
        ] {
            #expect(ProcessReport(body) == nil, "\(String(decoding: body, as: UTF8.self).prefix(80))")
        }
    }

    @Test func whoIsSilentIsGoneAndThenForgotten() {
        let (watch, start) = (Self.watch(), ContinuousClock.now)
        watch.hear(Self.report("w"), at: start)
        Self.hearOwn(watch, 0...60, from: start)
        watch.hear(Self.report("w"), at: start + .seconds(60))
        Self.hearOwn(watch, 65...90, from: start)
        #expect(Self.states(watch, start + .seconds(74)) == ["own": .running, "w": .running])
        #expect(Self.states(watch, start + .seconds(75)) == ["own": .running, "w": .gone])
        #expect(watch.processes(now: start + .seconds(75)).areAll)
        #expect(Self.states(watch, start + .seconds(90)) == ["own": .running])
    }

    /// Of whom is heard, and when: while the broker is away nobody is gone, and just after it came back neither.
    @Test func whileNobodyIsHeardNobodyIsGone() {
        let (watch, start) = (Self.watch(), ContinuousClock.now)
        watch.hear(Self.report("w"), at: start)
        Self.hearOwn(watch, 0...20, from: start)
        watch.hear(Self.report("w"), at: start + .seconds(20))
        let away = start + .seconds(300)
        #expect(Self.states(watch, away) == ["own": .running, "w": .unknown])
        #expect(!watch.processes(now: away).areAll)
        Self.hearOwn(watch, 300...320, from: start)
        #expect(Self.states(watch, start + .seconds(310)) == ["own": .running, "w": .unknown])
        #expect(Self.states(watch, start + .seconds(316)) == ["own": .running, "w": .gone])
    }

    @Test func whoEndsInOrderGoesAtOnce() {
        let (watch, start) = (Self.watch(), ContinuousClock.now)
        watch.hear(Self.report("w"), at: start)
        var last = Self.report("w")
        last.isLast = true
        watch.hear(last, at: start + .seconds(1))
        #expect(Self.states(watch, start + .seconds(1)).isEmpty)
    }

    /// Whoever makes up processes fills no memory.
    @Test func theirNumberIsBounded() {
        let (watch, start) = (Self.watch(), ContinuousClock.now)
        for number in 0..<(ProcessWatch.capacity + 50) {
            watch.hear(Self.report("\(number)"), at: start + .milliseconds(number))
        }
        let states = Self.states(watch, start + .seconds(1))
        #expect(states.count == ProcessWatch.capacity)
        #expect(states["49"] == nil && states["50"] != nil)
    }
}
