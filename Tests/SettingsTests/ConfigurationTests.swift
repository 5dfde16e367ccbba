import Foundation
import PushModel
import Testing

@testable import Settings

@Suite struct ConfigurationTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "pushline-\(UUID().uuidString)")

    /// Writes the text to a file of its own and reads the configuration from it.
    func configuration(_ text: String, environment: [String: String] = [:]) throws -> PushlineConfiguration {
        let folder = self.folder
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "pushline.yaml")
        try text.write(to: file, atomically: true, encoding: .utf8)
        return try PushlineConfiguration(file: file.path, environment: environment)
    }

    /// The message of the refusal, without the folder.
    func refusal(_ text: String, environment: [String: String] = [:]) -> String? {
        do {
            _ = try self.configuration(text, environment: environment)
            return nil
        } catch {
            let message = "\(error)"
            return message.range(of: "pushline.yaml").map { String(message[$0.lowerBound...]) } ?? message
        }
    }

    /// What the file says is what is without it.
    @Test func theShippedFileHasTheDefaults() throws {
        let shipped = try self.configuration(ConfigurationText.configuration)
        let empty = try self.configuration("")
        #expect(shipped.written == empty.written)
    }

    @Test func copiesOfAConfigurationAreApart() throws {
        let one = try self.configuration("api: {port: 1}")
        var other = one
        other.api.port = 2
        #expect(one.api.port == 1 && other.api.port == 2)
        #expect(PushlineConfiguration().api.port == 8080)
    }

    @Test func pathsAreRelativeToTheFile() throws {
        func path(_ name: String) -> String { self.folder.appending(path: name).path(percentEncoded: false) }
        let text =
            "store: {path: data/x y.sqlite}\nbroker: {ca_file: ../ca.pem}\napi: {certificate_file: /etc/c.pem, key_file: k.pem}"
        let found = try self.configuration(text)
        #expect(found.store.path == path("data/x y.sqlite"))
        #expect(found.broker.caFile == path("../ca.pem").replacing("\(self.folder.lastPathComponent)/../", with: ""))
        #expect(found.broker.certificateFile == nil)
        #expect(found.api.certificateFile == "/etc/c.pem" && found.api.keyFile == path("k.pem"))
        #expect(try self.configuration("").store.path == path("pushline.sqlite"))
        // A variable's path is the shell's.
        let own = try self.configuration(text, environment: ["PUSHLINE_STORE_PATH": "x.sqlite"])
        #expect(own.store.path == "x.sqlite")
    }

    @Test func environmentOverridesFileOverridesDefault() throws {
        let found = try self.configuration(
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
        ("api:\n  prot: 1", "pushline.yaml:2: api.prot: unknown; did you mean port?"),
        ("apo:\n  port: 1", "pushline.yaml:1: apo: unknown; did you mean api?"),
        (
            "port: 1",
            "pushline.yaml:1: port: unknown; known are store, retention, broker, api, hub, workers, delivery, simulator, process, log, traces"
        ),
        (
            "workers:\n  port: 1",
            "pushline.yaml:2: workers.port: unknown; known are host, register_port, send_port, delivery_port"
        ),
        ("api: 5", "pushline.yaml:1: api: must be a section with keys of its own"),
        ("api:\n  port: many", "pushline.yaml:2: api.port: must be a whole number from 0 to 65535"),
        ("api:\n  port: \"8080\"", "pushline.yaml:2: api.port: must be a whole number from 0 to 65535"),
        ("api:\n  port: [1]", "pushline.yaml:2: api.port: must be a whole number from 0 to 65535"),
        ("api:\n  port: 65536", "pushline.yaml:2: api.port: must be a whole number from 0 to 65535"),
        ("api:\n  port:\n    a: 1", "pushline.yaml:3: api.port: must be a whole number from 0 to 65535"),
        ("broker:\n  heartbeat: .nan", "pushline.yaml:2: broker.heartbeat: must be a number of seconds from 0 to 600"),
        ("broker:\n  heartbeat: yes", "pushline.yaml:2: broker.heartbeat: must be a number of seconds from 0 to 600"),
        (
            "log:\n  level: loud",
            "pushline.yaml:2: log.level: must be one of trace, debug, info, notice, warning, error, critical"
        ),
        (
            "api:\n  key_file: k.pem",
            "pushline.yaml:2: api.certificate_file: is missing: certificate_file and key_file belong together"
        ),
        ("- 1", "pushline.yaml:1: must be a section with keys of its own"),
        (
            "api:\n  trusted_proxies: 127.0.0.1, 10.0.0.0/33",
            "pushline.yaml:2: api.trusted_proxies: '10.0.0.0/33' is neither an address nor a network such as 10.0.0.0/8 or fd00::/8"
        ),
    ])
    func invalidSettingsAreRefusedByName(_ text: String, _ message: String) {
        #expect(self.refusal(text) == message)
    }

    @Test(arguments: ["api: {", "\u{0}", "a: b: c", "api:\n\tport: 1"])
    func brokenYAMLIsRefused(_ text: String) throws {
        let message = try #require(self.refusal(text))
        #expect(message.hasPrefix("pushline.yaml"))
        #expect(!message.contains("\n"))
    }

    @Test(arguments: ["", "# nothing\n", "---\n", "api:\n"])
    func emptyFilesAreAccepted(_ text: String) throws {
        #expect(try self.configuration(text).api.port == 8080)
    }

    @Test func theStoreHasAShortVariableName() throws {
        let short = ["PUSHLINE_STORE": "/a.sqlite"]
        #expect(try self.configuration("store:\n  path: b", environment: short).store.path == "/a.sqlite")
        let both = ["PUSHLINE_STORE": "/a.sqlite", "PUSHLINE_STORE_PATH": "/c.sqlite"]
        #expect(try self.configuration("", environment: both).store.path == "/c.sqlite")
        #expect(self.refusal("store:\n  path: \"\"") == "pushline.yaml:2: store.path: must be the name of a file")
    }

    @Test func theStoreIsAtOnePlace() throws {
        let url = "postgresql://me@one,two/push"
        let found = try self.configuration("store: {url: \"\(url)\", password_file: secret}")
        #expect(found.store.url == url)
        #expect(found.store.passwordFile == self.folder.appending(path: "secret").path(percentEncoded: false))
        let given = self.refusal("store:\n  path: a\n  url: \(url)")
        #expect(given?.hasPrefix("pushline.yaml:2) and store.url (") == true, "\(given ?? "")")
        #expect(
            given?.hasSuffix("pushline.yaml:3) are both given, but there is only one store: remove one") == true
        )
        let variable = ["PUSHLINE_STORE_URL": url]
        let one = self.refusal("store:\n  path: a", environment: variable)
        #expect(one?.hasPrefix("pushline.yaml:2) and PUSHLINE_STORE_URL are both given") == true, "\(one ?? "")")
        // An empty variable takes the file's away.
        let taken = variable.merging(["PUSHLINE_STORE_PATH": ""]) { $1 }
        #expect(try self.configuration("store:\n  path: a", environment: taken).store.url == url)
        let none = self.refusal("store:\n  path: a", environment: ["PUSHLINE_STORE_PATH": ""])
        #expect(none == "pushline.yaml:2: store.path: must be the name of a file")
        let file = self.refusal("store:\n  password_file: secret")
        #expect(file == "pushline.yaml:2: store.password_file: goes with store.url")
    }

    @Test func invalidVariablesAreRefusedByName() {
        let message = self.refusal("", environment: ["PUSHLINE_API_PORT": "http"])
        #expect(message == "environment: PUSHLINE_API_PORT: must be a whole number from 0 to 65535")
    }

    @Test func aMisspeltVariableIsReported() {
        let known =
            PushlineConfiguration.rows.map(\.environmentVariable) + [
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

    @Test func aMissingFileIsRefused() {
        #expect(throws: ConfigurationError("/nowhere/pushline.yaml: there is no such file")) {
            try PushlineConfiguration(file: "/nowhere/pushline.yaml", environment: [:])
        }
    }

    @Test(arguments: [
        ("amqp://user:secret@host:5672/v", "amqp://host:5672/v"),
        ("amqps://host", "amqps://host"),
        ("amqp://u:a,b@one/v,amqp://u:amqp@two/v , amqp://three/v", "amqp://one/v, amqp://two/v, amqp://three/v"),
    ])
    func theBrokersPasswordIsNotShown(_ url: String, _ shown: String) throws {
        let found = try self.configuration("", environment: ["PUSHLINE_BROKER_URL": url])
        #expect("\(found.broker)" == shown)
        #expect(found.broker.urls.count == url.components(separatedBy: "://").count - 1)
    }

    @Test func aClusterHasSeveralAddresses() throws {
        let list = "amqp://u:a,b@one/v,amqp://u:a,b@two:5673/v"
        let found = try self.configuration("", environment: ["PUSHLINE_BROKER_URL": list])
        #expect(found.broker.urls == ["amqp://u:a,b@one/v", "amqp://u:a,b@two:5673/v"])
        #expect(try self.configuration("", environment: [:]).broker.urls.count == 1)
    }

    @Test func aFileInAFolderOfOthersIsNotReadUnasked() throws {
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let file = self.folder.appending(path: "pushline.yaml").path
        #expect(!PushlineConfiguration.isTrusted(file))
        func make(_ attributes: [FileAttributeKey: Any]) throws {
            try? FileManager.default.removeItem(atPath: file)
            try #require(FileManager.default.createFile(atPath: file, contents: Data(), attributes: attributes))
            try FileManager.default.setAttributes(attributes, ofItemAtPath: file)
        }
        try make([.posixPermissions: 0o664])
        #expect(PushlineConfiguration.isTrusted(file))
        try make([.posixPermissions: 0o666])
        #expect(!PushlineConfiguration.isTrusted(file))
        // A link of another's may lead to a file of this user's; its own owner counts.
        guard geteuid() == 0 else { return }
        try make([.posixPermissions: 0o644, .ownerAccountID: 65_534])
        #expect(!PushlineConfiguration.isTrusted(file))
    }
}
