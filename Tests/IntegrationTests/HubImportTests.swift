import Foundation
import HubWire
import InstallationSupport
import PushlineSimulator
import RawHTTP
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
import Undisturbed
#endif

/// `pushline hub import` from our own `pushline-hub`, over TLS, into another app.
@Suite(.serialized, .ownInstallation, .timeLimit(.minutes(5)), .undisturbed) struct HubImportTests {
    private struct Count: Decodable { let total: Int }
    private struct Summary: Decodable {
        let read: Int
        let created: Int
        let updated: Int
        let failed: Int
        let skipped: [String: Int]
    }

    private static let devices = 5000

    /// What each run is given.
    private struct Setup {
        let installation: EndToEndInstallation
        let hub: HubAccess
        let key: String
        let arguments: [String]
        let progress: URL

        /// Starts the command; its notes go to a file of that name.
        func start(_ name: String, _ more: String...) throws -> (process: Process, output: Pipe, notes: URL) {
            let process = Process()
            process.executableURL = Bundle.main.bundleURL.appending(path: "pushline")
            process.arguments = ["hub", "import"] + self.arguments + more
            process.environment = ProcessInfo.processInfo.environment.merging([
                "PUSHLINE_URL": "http://127.0.0.1:\(self.installation.port)", "PUSHLINE_KEY": self.key,
                "PUSHLINE_APP": "shop",
            ]) { $1 }
            let (output, notes) = (Pipe(), self.installation.file("\(name).notes"))
            try Data().write(to: notes)
            process.standardInput = FileHandle.nullDevice
            process.standardOutput = output
            process.standardError = try FileHandle(forWritingTo: notes)
            try process.run()
            return (process, output, notes)
        }

        /// Runs it to its end.
        func run(_ name: String, _ more: String...) async throws -> (status: Int32, output: Data, notes: String) {
            let (process, output, notes) = more.isEmpty ? try self.start(name) : try self.start(name, more[0])
            try await eventually("the import ends") { !process.isRunning }
            return (
                process.terminationStatus, try output.fileHandleForReading.readToEnd() ?? Data(),
                try String(contentsOf: notes, encoding: .utf8)
            )
        }
    }

    private static func setup() async throws -> Setup {
        let installation = try #require(EndToEndInstallation.current)
        let key = try await installation.addApp("shop", try installation.simulator.appSpec)
        // So few requests a second that the hub refuses some of the import's, and says when to come again.
        let hub = try await installation.startHub(environment: ["PUSHLINE_API_REQUESTS_PER_SECOND": "3"])
        let (connection, authority) = (installation.file("connection"), installation.file("authority.pem"))
        try Data((hub.connection.text + "\n").utf8).write(to: connection)
        try Data(hub.authority.utf8).write(to: authority)
        let progress = installation.file("progress.json")
        return Setup(
            installation: installation,
            hub: hub,
            key: key,
            arguments: [
                "--connection-string-file", connection.path, "--name", hub.name, "--hub-ca-file", authority.path,
                "--progress-file", progress.path, "--format", "json",
            ],
            progress: progress
        )
    }

    private static func count(_ setup: Setup, _ to: String) async throws -> Int {
        var request = URLRequest(
            url: try #require(URL(string: "http://127.0.0.1:\(setup.installation.port)/api/apps/shop/sends/count"))
        )
        request.httpMethod = "POST"
        request.httpBody = Data(#"{"to":\#(to)}"#.utf8)
        request.setValue("Bearer \(setup.key)", forHTTPHeaderField: "Authorization")
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        let (data, _) = try await URLSession.shared.data(for: request)
        return try JSONDecoder().decode(Count.self, from: data).total
    }

    /// The templates of ten installations, two each.
    private static var templates: [String] {
        (0..<10).flatMap { number in
            ["greet", "my name"].map { name in
                let begin =
                    #"{"id":"\#(name.prefix(2))-\#(number)","service":"apns","handle":"\#(String(format: "%064x", number + 1))","#
                let tags = name == "greet" ? #","greet","extra""# : ""
                return begin
                    + #""user":"u\#(number % 7)","tags":["installation:phone-\#(number)","first"\#(tags)],"#
                    + ##""template":{"name":"\##(name)","body":"{\"aps\":{\"alert\":\"$(\##(name.prefix(2)))\"}}","##
                    + #""headers":{"apns-priority":"5"},"expiry":"$(until)"}}"#
            }
        }
    }

    /// Shows that the app's installations have their templates, and that these are sent to.
    private static func expectTemplates(_ setup: Setup) async throws {
        let installation = setup.installation
        let connection = try await installation.addRule("shop", of: "shop", at: setup.hub.port)
        let hub = setup.hub.of("shop", connection)
        var raw = try await RawConnection.open(port: hub.port, trusting: hub.authority)
        defer { raw.close() }
        let read = try await raw.exchange(hub.request("GET", "/installations/phone-3?api-version=2020-06"))
        let body = try #require(read.firstRange(of: "\r\n\r\n")).upperBound
        let there = try WireInstallation(reading: Array(read[body...].utf8), id: "phone-3")
        #expect(there.userID == "u3" && there.tags == ["first"] && there.templates.map(\.name) == ["greet", "my name"])
        let greet = try #require(there.templates.first)
        #expect(greet.tags.sorted() == ["extra", "greet"] && greet.expiry == "$(until)")
        #expect(greet.headers == [.init("apns-priority", "5")] && greet.body == ##"{"aps":{"alert":"$(gr)"}}"##)
        let sent = try await raw.exchange(
            hub.request(
                "POST",
                "/messages?api-version=2020-06",
                body: #"{"gr":"moved in"}"#,
                "Content-Type: application/json",
                "ServiceBusNotification-Format: template",
                "ServiceBusNotification-Tags: $InstallationId:{phone-3} && greet"
            )
        )
        #expect(sent.hasPrefix("HTTP/1.1 201 "), "\(sent)")
        let token = String(format: "%064x", 4)
        try await eventually("the device has it") {
            let pushes = installation.simulator.received(token: token)
            return pushes.map(\.body) == [#"{"aps":{"alert":"moved in"}}"#]
                && pushes.first?.headers["apns-priority"] == "5"
        }
    }

    @Test func anImportSurvivesItsDeathAndAHubThatIsBusy() async throws {
        let setup = try await Self.setup()
        try await setup.installation.importRegistrations(
            (0..<Self.devices).map { number in
                let token = String(format: "%064x", number + 1)
                let tags = number < 10 ? #""installation:phone-\#(number)","first""# : #""all""#
                return
                    #"{"id":"d-\#(number)","service":"apns","handle":"\#(token)","user":"u\#(number % 7)","tags":[\#(tags)]}"#
            } + Self.templates + [#"{"service":"mpns","handle":"http://s.notify.live.net/x","tags":["old"]}"#]
        )
        let first = try setup.start("first")
        try await eventually("a part is copied") {
            FileManager.default.fileExists(atPath: setup.progress.path)
        }
        kill(first.process.processIdentifier, SIGKILL)
        first.process.waitUntilExit()
        let begun = try Data(contentsOf: setup.progress)
        let part = try await Self.count(setup, #"{"all":true}"#)
        #expect(part > 0 && part < Self.devices)

        let second = try await setup.run("second")
        #expect(second.status == 0, "\(second.notes)")
        #expect(second.notes.contains("going on after"), "\(second.notes)")
        let notes = try String(contentsOf: first.notes, encoding: .utf8) + second.notes
        #expect(notes.contains("takes no more for now") && notes.contains("trying again in"), "\(notes)")
        let summary = try JSONDecoder().decode(Summary.self, from: second.output)
        let all = Self.devices + Self.templates.count
        #expect(summary.read == all + 1 && summary.failed == 0)
        #expect(summary.created + summary.updated == all && summary.skipped == ["platform:windowsphone": 1])
        #expect(!FileManager.default.fileExists(atPath: setup.progress.path))
        #expect(try await Self.count(setup, #"{"all":true}"#) == Self.devices)
        #expect(try await Self.count(setup, #"{"tag":"first"}"#) == 10)
        #expect(try await Self.count(setup, #"{"tag":"installation:phone-3"}"#) == 1)
        #expect(try await Self.count(setup, #"{"user":"u3"}"#) == Self.devices / 7)

        try await Self.expectTemplates(setup)

        // Once more, from a place that the hub does not know: nothing is added, and with the flag nothing is touched.
        var stale = try #require(try JSONSerialization.jsonObject(with: begun) as? [String: Any])
        stale["continuation"] = "stale"
        try JSONSerialization.data(withJSONObject: stale).write(to: setup.progress)
        let again = try await setup.run("again", "--new-only")
        #expect(again.status == 0 && again.notes.contains("starting over"), "\(again.notes)")
        let repeated = try JSONDecoder().decode(Summary.self, from: again.output)
        // Which templates the interrupted run had written nobody knows: they are written once more.
        #expect(repeated.created == 0 && repeated.updated == Self.templates.count)
        #expect(repeated.skipped["known"] == Self.devices)
    }
}
