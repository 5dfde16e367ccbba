import Foundation
import HubWire
import InstallationSupport
import PushlineSimulator
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// `pushline hub import` from our own `pushline-hub`, over TLS, into another app.
@Suite(.serialized, .ownInstallation, .timeLimit(.minutes(5))) struct HubImportTests {
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

    @Test func anImportSurvivesItsDeathAndAHubThatIsBusy() async throws {
        let setup = try await Self.setup()
        try await setup.installation.importRegistrations(
            (0..<Self.devices).map { number in
                let token = String(format: "%064x", number + 1)
                let tags = number < 10 ? #""installation:phone-\#(number)","first""# : #""all""#
                return
                    #"{"id":"d-\#(number)","pns":"apns","handle":"\#(token)","user":"u\#(number % 7)","tags":[\#(tags)]}"#
            } + [#"{"pns":"mpns","handle":"http://s.notify.live.net/x","tags":["old"]}"#]
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
        #expect(summary.read == Self.devices + 1 && summary.failed == 0)
        #expect(summary.created + summary.updated == Self.devices && summary.skipped == ["platform:windowsphone": 1])
        #expect(!FileManager.default.fileExists(atPath: setup.progress.path))
        #expect(try await Self.count(setup, #"{"all":true}"#) == Self.devices)
        #expect(try await Self.count(setup, #"{"tag":"first"}"#) == 10)
        #expect(try await Self.count(setup, #"{"tag":"installation:phone-3"}"#) == 1)
        #expect(try await Self.count(setup, #"{"user":"u3"}"#) == Self.devices / 7)

        // Once more, from a place that the hub does not know: nothing is added, and with the flag nothing is touched.
        var stale = try #require(try JSONSerialization.jsonObject(with: begun) as? [String: Any])
        stale["continuation"] = "stale"
        try JSONSerialization.data(withJSONObject: stale).write(to: setup.progress)
        let again = try await setup.run("again", "--new-only")
        #expect(again.status == 0 && again.notes.contains("starting over"), "\(again.notes)")
        let repeated = try JSONDecoder().decode(Summary.self, from: again.output)
        #expect(repeated.created == 0 && repeated.updated == 0 && repeated.skipped["known"] == Self.devices)
    }
}
