import ArgumentParser
import Foundation
import Logging
import PushModel
import PushlineLogging
import PushlineSimulator
import ServiceLifecycle
import Settings
import UnixSignals

@main
struct Main: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pushline-simulator",
        abstract: "Stands in for push services (\(Simulator.titles)) on 127.0.0.1, as strict as they are.",
        discussion: """
            At its start it writes certificates, keys and an apps.yaml for `pushline apps apply` into its folder.
            The control address, plain HTTP, takes
              POST /faults                 a fault as JSON, or an array of them: docs/operations.md shows some
              GET /faults                  the faults, and how often each has hit
              DELETE /faults, /faults/ID   ends all, or one
              GET /received                what came in: ?token=&service=&since=&limit=
              GET /deliveries              the accepted pushes, a line of JSON each: ?since=&limit=
              GET /counts                  how much came in
              POST /access-tokens/revoke   all access tokens turn useless
              POST /reset                  forgets faults, pushes and counts
              GET /healthz                 200 once it serves
            Options come before PUSHLINE_SIMULATOR_… variables, and those before the file's section `simulator`:
            FOLDER, STATE, PORTS, CONTROL_PORT, KEEP (folder, state, ports …).
            """,
        version: pushlineVersion
    )

    @Option(help: "Configuration file; Config/pushline.yaml or /etc/pushline/pushline.yaml where it exists.")
    var config: String?

    @Option(help: "Folder for certificates, keys and apps.yaml; a temporary one unless said.")
    var folder: String?

    @Option(help: "Write the addresses as JSON to this file once all ports are open; removed at the end.")
    var state: String?

    @Option(help: "Ports of apns, apnsChannels, fcm, wns, web, such as apns=8443,fcm=8444; any free ones unless said.")
    var ports: String?

    @Option(help: "Port of the control address, plain HTTP.")
    var controlPort: Int?

    @Option(help: "Maximum number of received pushes kept; counts include all.")
    var keep: Int?

    func run() async throws {
        do { try await self.serve() } catch {
            LineLogHandler.reportEnd(of: "pushline-simulator", error)
            throw ExitCode.failure
        }
    }

    /// Serves until a signal ends it.
    private func serve() async throws {
        let settings = SimulatorSettings()
        let options = [
            "folder": self.folder, "state": self.state, "ports": self.ports,
            "control_port": self.controlPort.map { "\($0)" },
            "keep": self.keep.map { "\($0)" },
        ].compactMapValues { $0 }
        try SettingsReader(file: PushlineConfiguration.chosenFile(self.config), options: options).read(
            into: settings,
            named: "simulator"
        )
        let logger = Logger(label: "pushline-simulator") {
            LineLogHandler(label: $0, format: .text, level: .info, hasPriority: LineLogHandler.isJournal)
        }
        let simulator = Simulator(try SimulatorConfiguration(settings), logger: logger)
        let urls = try await simulator.start()
        let credentials = try simulator.credentials
        let state = State(urls: urls, folder: credentials.folder, apps: credentials.appsFile, ca: credentials.trustFile)
        try state.write(to: settings.state)
        // Not print: to a pipe or file that would come at the end.
        FileHandle.standardOutput.write(Data((state.text + "\n").utf8))
        var configuration = ServiceGroupConfiguration(
            services: [simulator],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        )
        configuration.maximumGracefulShutdownDuration = .seconds(4)
        do {
            try await ServiceGroup(configuration: configuration).run()
        } catch {
            State.remove(settings.state)
            throw error
        }
        State.remove(settings.state)
    }
}

/// Where everything is, for people and for scripts.
struct State: Encodable {
    var urls: SimulatorURLs
    var folder: String
    var apps: String
    var ca: String

    var text: String {
        let lines = self.urls.all.sorted { $0.key < $1.key } + [(key: "apps", value: self.apps)]
        return lines.map { name, place in "\(name.padding(toLength: 14, withPad: " ", startingAt: 0))\(place)" }
            .joined(separator: "\n")
    }

    func write(to path: String?) throws {
        guard let path else { return }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try encoder.encode(self).write(to: URL(fileURLWithPath: path), options: .atomic)
    }

    static func remove(_ path: String?) {
        guard let path else { return }
        // Gone already is as good.
        try? FileManager.default.removeItem(atPath: path)
    }
}
