import Foundation
import Testing
import Yams

@testable import Installation

@Suite struct ConfigurationTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "pushline-\(UUID().uuidString)")

    /// Writes the text to a file of its own and reads the configuration from it.
    private func configuration(_ text: String, environment: [String: String] = [:]) async throws
        -> PushlineConfiguration
    {
        let folder = self.folder
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "pushline.yaml")
        try text.write(to: file, atomically: true, encoding: .utf8)
        return try await PushlineConfiguration(file: file.path, environment: environment)
    }

    /// The message of the refusal, without the folder.
    private func refusal(_ text: String, environment: [String: String] = [:]) async -> String? {
        do {
            _ = try await self.configuration(text, environment: environment)
            return nil
        } catch {
            let message = "\(error)"
            return message.range(of: "pushline.yaml").map { String(message[$0.lowerBound...]) } ?? message
        }
    }

    @Test func theShippedFileNamesEveryKeyWithItsDefault() async throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appending(path: "Config/pushline.yaml"), encoding: .utf8)
        let sections = try #require(try Yams.compose(yaml: text)?.mapping)
        var names: [String] = []
        for (section, keys) in sections {
            for (key, _) in try #require(keys.mapping) {
                names.append("\(section.string ?? "").\(key.string ?? "")")
            }
        }
        #expect(names == ConfigurationKey.all.map(\.name))
        #expect(Set(names).count == names.count)
        let shipped = try await self.configuration(text)
        #expect(shipped == (try await self.configuration("")))
    }

    @Test func pathsAreRelativeToTheFile() async throws {
        func path(_ name: String) -> String { self.folder.appending(path: name).path(percentEncoded: false) }
        let text =
            "store: {path: data/x y.sqlite}\nbroker: {ca_file: ../ca.pem}\napi: {certificate_file: /etc/c.pem, key_file: k.pem}"
        let found = try await self.configuration(text)
        #expect(found.store.path == path("data/x y.sqlite"))
        #expect(found.broker.caFile == path("../ca.pem").replacing("\(self.folder.lastPathComponent)/../", with: ""))
        #expect(found.broker.certificateFile == nil)
        #expect(found.api.certificateFile == "/etc/c.pem" && found.api.keyFile == path("k.pem"))
        #expect(try await self.configuration("").store.path == path("pushline.sqlite"))
        // A variable's path is the shell's.
        let own = try await self.configuration(text, environment: ["PUSHLINE_STORE_PATH": "x.sqlite"])
        #expect(own.store.path == "x.sqlite")
    }

    @Test func everyKeyHasASectionAndAName() {
        for key in ConfigurationKey.all {
            #expect(key.name.split(separator: ".").count == 2, "\(key.name)")
        }
    }

    @Test func environmentOverridesFileOverridesDefault() async throws {
        let found = try await self.configuration(
            "api:\n  port: 9000\n  host: 10.0.0.1\nlog: { format: json }",
            environment: [
                "PUSHLINE_API_PORT": "9001", "PUSHLINE_BROKER_HEARTBEAT": "2.5", "PUSHLINE_STORE_PATH": "/x y",
            ]
        )
        #expect(found.api.port == 9001)
        #expect(found.api.host == "10.0.0.1")
        #expect(found.log.format == .json)
        #expect(found.broker.heartbeat == .milliseconds(2500))
        #expect(found.store.path == "/x y")
        #expect(found.workers.sendPort == 8082)
    }

    @Test(arguments: [
        ("api:\n  prot: 1", "pushline.yaml:2: unknown key api.prot (did you mean api.port?)"),
        ("apo:\n  port: 1", "pushline.yaml:1: unknown key apo"),
        ("port: 1", "pushline.yaml:1: unknown key port (did you mean api.port?)"),
        ("workers:\n  port: 1", "pushline.yaml:2: unknown key workers.port (did you mean api.port?)"),
        ("api: 5", "pushline.yaml:1: api must be a section with keys"),
        ("api:\n  port: many", "pushline.yaml:2: api.port must be a whole number from 0 to 65535"),
        ("api:\n  port: \"8080\"", "pushline.yaml:2: api.port must be a whole number from 0 to 65535"),
        ("api:\n  port: [1]", "pushline.yaml:2: api.port must be a whole number from 0 to 65535"),
        ("api:\n  port: 65536", "pushline.yaml: api.port must be a whole number from 0 to 65535"),
        ("api:\n  port:\n    a: 1", "pushline.yaml:3: api.port must be a whole number from 0 to 65535"),
        ("broker:\n  heartbeat: .nan", "pushline.yaml: broker.heartbeat must be a number of seconds from 0 to 600"),
        ("broker:\n  heartbeat: yes", "pushline.yaml:2: broker.heartbeat must be a number of seconds from 0 to 600"),
        (
            "log:\n  level: loud",
            "pushline.yaml: log.level must be one of trace, debug, info, notice, warning, error, critical"
        ),
        (
            "api:\n  key_file: k.pem",
            "api.certificate_file and api.key_file belong together: give both or none"
        ),
        ("- 1", "pushline.yaml: must hold sections, such as `api:` and below it `port: 8080`"),
        (
            "api:\n  trusted_proxies: 127.0.0.1, 10.0.0.0/33",
            "api.trusted_proxies: '10.0.0.0/33' is neither an address nor a network such as 10.0.0.0/8 or fd00::/8"
        ),
    ])
    func invalidSettingsAreRefusedByName(_ text: String, _ message: String) async {
        #expect(await self.refusal(text) == message)
    }

    @Test(arguments: ["api: {", "\u{0}", "a: b: c", "api:\n\tport: 1"])
    func brokenYAMLIsRefused(_ text: String) async throws {
        let message = try #require(await self.refusal(text))
        #expect(message.hasPrefix("pushline.yaml"))
        #expect(!message.contains("\n"))
    }

    @Test(arguments: ["", "# nothing\n", "---\n", "api:\n"])
    func emptyFilesAreAccepted(_ text: String) async throws {
        #expect(try await self.configuration(text).api.port == 8080)
    }

    @Test func theStoreHasAShortVariableName() async throws {
        let short = ["PUSHLINE_STORE": "/a.sqlite"]
        #expect(try await self.configuration("store:\n  path: b", environment: short).store.path == "/a.sqlite")
        let both = ["PUSHLINE_STORE": "/a.sqlite", "PUSHLINE_STORE_PATH": "/c.sqlite"]
        #expect(try await self.configuration("", environment: both).store.path == "/c.sqlite")
        #expect(await self.refusal("store:\n  path: \"\"") == "store.path must name a file")
    }

    @Test func invalidVariablesAreRefusedByName() async {
        let message = await self.refusal("", environment: ["PUSHLINE_API_PORT": "http"])
        #expect(message == "environment: PUSHLINE_API_PORT must be a whole number from 0 to 65535")
    }

    @Test func aMisspeltVariableIsReported() {
        let known =
            ConfigurationKey.all.map(\.environmentVariable) + [
                "PUSHLINE_STORE", "PUSHLINE_STRICT", "PUSHLINE_CRASH_AT", "PUSHLINE_KEY", "PATH",
            ]
        let environment = Dictionary(uniqueKeysWithValues: known.map { ($0, "x") })
        #expect(PushlineConfiguration.unknownVariables(in: environment) == [])
        #expect(
            PushlineConfiguration.unknownVariables(
                in: ["PUSHLINE_API_PROT": "1", "PUSHLINE_BROKER": "secret", "PUSHLINE_QUITE_ANOTHER": "x"]
            ) == [
                "PUSHLINE_API_PROT (did you mean PUSHLINE_API_PORT?)",
                "PUSHLINE_BROKER (did you mean PUSHLINE_BROKER_URL?)", "PUSHLINE_QUITE_ANOTHER",
            ]
        )
    }

    @Test func aMissingFileIsRefused() async {
        await #expect(throws: ConfigurationError("/nowhere/pushline.yaml: there is no such file")) {
            try await PushlineConfiguration(file: "/nowhere/pushline.yaml", environment: [:])
        }
    }

    @Test(arguments: [
        ("amqp://user:secret@host:5672/v", "amqp://host:5672/v"),
        ("amqps://host", "amqps://host"),
        ("amqp://u:a,b@one/v,amqp://u:amqp@two/v , amqp://three/v", "amqp://one/v, amqp://two/v, amqp://three/v"),
    ])
    func theBrokersPasswordIsNotShown(_ url: String, _ shown: String) async throws {
        let found = try await self.configuration("", environment: ["PUSHLINE_BROKER_URL": url])
        #expect("\(found.broker)" == shown)
        #expect(found.broker.urls == PushlineConfiguration.Broker.addresses(in: url))
    }

    @Test func aClusterHasSeveralAddressesAndAShortHeartbeat() async throws {
        let list = "amqp://u:a,b@one/v,amqp://u:a,b@two:5673/v"
        let found = try await self.configuration("", environment: ["PUSHLINE_BROKER_URL": list])
        #expect(found.broker.urls == ["amqp://u:a,b@one/v", "amqp://u:a,b@two:5673/v"])
        #expect(found.broker.heartbeat == .seconds(5))
        let single = try await self.configuration("", environment: [:])
        #expect(single.broker.urls.count == 1 && single.broker.heartbeat == .seconds(20))
        let chosen = ["PUSHLINE_BROKER_URL": list, "PUSHLINE_BROKER_HEARTBEAT": "7"]
        #expect(try await self.configuration("", environment: chosen).broker.heartbeat == .seconds(7))
    }

    @Test func theManagementAPIIsAskedAsTheBrokerUnlessSaidOtherwise() async throws {
        func address(_ url: String) async throws -> ManagementAddress? {
            let variables = [
                "PUSHLINE_BROKER_URL": "amqp://u:p%40ss@one/v%2Fh", "PUSHLINE_BROKER_MANAGEMENT_URL": url,
            ]
            return try Composition.management(try await self.configuration("", environment: variables))
        }
        #expect(try await address("") == nil)
        let same = ManagementAddress(url: "http://one:15672", username: "u", password: "p@ss", virtualHost: "v/h")
        #expect(try await address("http://one:15672/") == same)
        let other = ManagementAddress(url: "https://m/rabbit", username: "a", password: "b:c", virtualHost: "v/h")
        #expect(try await address("https://a:b%3Ac@m/rabbit") == other)
        for wrong in ["one:15672", "ftp://one", "http://", "http://one?x=1"] {
            await #expect(throws: ConfigurationError.self) { try await address(wrong) }
        }
    }
}
