import ArgumentParser
import Foundation
import PushlineClient
import Testing
import Undisturbed

@testable import PushlineCommands

@Suite(.undisturbed) struct CommandLineTests {
    private func exitCode(_ arguments: [String]) -> Int32? {
        do {
            let command = try PushlineCommand.parseAsRoot(arguments)
            if let send = command as? SendCommand { try send.requireParts() }
            return nil
        } catch let error as CommandFailure {
            return error.exitCode.rawValue
        } catch {
            return PushlineCommand.exitCode(for: error).rawValue
        }
    }

    @Test(arguments: [
        ["apps", "apply", "apps.yaml"], ["apps", "show"], ["apps", "show", "default", "--format", "json"],
        ["accounts", "add", "ann", "--role", "user"],
        ["accounts", "add", "ann", "--role", "user", "--password-file", "p"],
        ["accounts", "add", "ann", "--role", "user", "--password-stdin", "--app", "shop"],
        ["accounts", "list", "--format", "json"],
        ["accounts", "disable", "ann"], ["accounts", "enable", "ann"], ["accounts", "remove", "ann", "--self"],
        ["users", "remove", "ann", "--watch"], ["accounts", "change", "ann", "--role", "sender"],
        ["accounts", "change", "ann", "--password-file", "p"],
        ["keys", "create", "k", "--role", "sender"], ["keys", "create", "k", "--role", "viewer"],
        ["jobs", "cancel", "x"], ["jobs", "cancel", "--label", "spring", "--dry-run"],
        ["jobs", "cancel", "--state", "queued", "--by-key", "shop", "--key", "plk_x"],
        ["dead", "groups"], ["dead", "replay", "7"], ["dead", "replay", "--reason", "r", "--queue", "q"],
        ["dead", "discard", "--type", "x"], ["dead", "discard", "7", "--of-no-app"],
        ["audit", "--by", "key:shop", "--action", "queue.pause", "--since", "2h"],
        ["audit", "--all", "--state", "begun"], ["audit", "--job", "01a221c8-c2e4-710f-b5a0-0a6327067710"],
        ["top", "--once"],
        ["keys", "list"],
        ["hub", "rules", "create", "r", "--rights", "listen,send", "--endpoint", "h:8443"], ["hub", "rules", "list"],
        ["hub", "rules", "rotate", "r", "--key", "primary"], ["hub", "rules", "delete", "r"],
        ["hub", "import", "--connection-string-file", "f", "--name", "n"],
        [
            "hub", "import", "--connection-string-file", "f", "--name", "n", "--new-only", "--hub-ca-file", "c",
            "--format", "json",
        ],
        ["keys", "revoke", "k"], ["send", "--user", "ann", "hello"],
        ["send", "--user", "ann", "--user", "bob", "hello"], ["send", "--users", "-", "hello"],
        ["send", "--users", "names.txt", "--count"],
        ["send", "--tag", "a", "--tag", "b", "--data", "k=v=w"],
        ["send", "--handle", "apns:ab", "--handle", "wns:https://x", "hello"], ["send", "--all", "hello"],
        ["send", "--channel", "watch:YQ==", "--json", "-"], ["send", "--channel", "YQ==", "--activity", "end"],
        ["channels", "create", "--storage", "latest", "--format", "json"],
        ["channels", "list", "--credential", "watch"], ["channels", "show", "YQ=="], ["channels", "delete", "YQ=="],
        ["send", "--registration", "a", "--registration", "b", "hello"],
        ["send", "--user", "ann", "--title", "T", "--watch", "--priority", "high", "--ttl", "0"],
        ["send", "--user", "ann", "--native", "-", "--label", "sale"], ["send", "--user", "ann", "hello", "--preview"],
        ["send", "--user", "ann", "hello", "--dry-run", "--watch"],
        ["send", "--user", "ann", "--json", "-", "--format", "json"],
        ["send", "--user", "ann", "--title-loc-key", "k"], ["send", "--handle", "apns:ab", "--activity", "end"],
        ["jobs", "--label", "sale"], ["jobs", "--kind", "all", "--state", "retrying", "--service", "fcm"],
        ["send", "--batch", "-"], ["send", "--batch", "sends.ndjson", "--idempotency-key", "k", "--format", "json"],
        ["jobs", "--since", "2h"],
        ["notifications", "--user", "ann", "--sender", "ann", "--since", "2h", "--format", "json"],
        ["job", "0190"], ["job", "0190", "--deliveries", "--format", "json"],
        ["registrations", "list", "--user", "ann"],
        ["registrations", "delete", "r"], ["doctor", "--config", "x.yaml"],
        ["doctor", "--push"], ["doctor", "--push", "--app", "shop", "--service", "apns", "--credential", "watch"],
        ["doctor", "--push", "--device", "ab"], ["doctor", "--url", "https://x", "--key", "k", "--app", "shop"],
        ["jobs", "--url", "http://h", "--key", "k"], ["jobs", "list", "--limit", "3"],
        ["jobs", "cancel", "0190", "--format", "json"], ["dead"], ["dead", "list", "--limit", "3"],
        ["dead", "show", "1", "--format", "json"], ["dead", "--of-no-app"],
        ["dead", "list", "--of-no-app", "--config", "x"],
        ["queues"], ["queues", "list", "--format", "json"], ["queues", "pause", "deliver.apns"],
        ["queues", "resume", "send", "--app", "shop"],
        ["queues", "pause", "register", "--all-apps", "--config", "x.yaml", "--format", "json"],
        ["dead", "replay", "1"], ["dead", "discard", "1", "--app", "shop"],
    ])
    func validCommandLinesAreParsed(arguments: [String]) {
        #expect(self.exitCode(arguments) == nil)
    }

    @Test(arguments: [
        ["jobs", "cancel"], ["jobs", "cancel", "x", "--label", "spring"], ["jobs", "cancel", "x", "--dry-run"],
        ["dead", "replay"], ["dead", "replay", "7", "--reason", "r"], ["dead", "discard", "--of-no-app"],
        ["audit", "--state", "open"], ["audit", "--action", "none"], ["audit", "--all", "--app", "shop"],
        ["audit", "--config", "c.yaml"], ["audit", "--all", "--job", "01a221c8-c2e4-710f-b5a0-0a6327067710"],
        ["bogus"], ["send"], ["send", "--user", "ann"], ["send", "hello"], ["send", "--user", "a", "--tag", "b", "x"],
        ["send", "--user", "a", "--users", "f", "x"], ["send", "--batch", "f", "--users", "f"],
        ["send", "--users", "f"], ["send", "--handle", "ab", "x"], ["send", "--handle", "adm:ab", "x"],
        ["send", "--channel", "a", "--all", "x"], ["channels", "show", "a b"],
        ["channels", "create", "--storage", "all"],
        ["channels", "delete"], ["send", "--all", "--user", "a", "x"], ["send", "--batch", "f", "--all"],
        ["send", "--user", "a", "--data", "novalue"], ["send", "--user", "a", "--data", "=v"],
        ["send", "--user", "a", "--data", "k=1", "--data", "k=2"],
        ["send", "--user", "a", "x", "--priority", "urgent"], ["send", "--batch", "f", "x"],
        ["send", "--batch", "f", "--user", "a"], ["send", "--batch", "f", "--watch"],
        ["send", "--batch", "f", "--at", "+1h"], ["send", "--batch", "f", "--native", "f"],
        ["send", "--user", "ann", "hello", "--preview", "--watch"], ["send", "--batch", "f", "--preview"],
        ["send", "--batch", "f", "--dry-run"], ["send", "--batch", "f", "--json", "f"],
        ["send", "--batch", "f", "--activity", "end"], ["send", "--batch", "f", "--fcm-channel", "c"],
        ["send", "--user", "a", "--json", "f", "--native", "f"], ["send", "--users", "-", "--json", "-"],
        ["send", "--user", "a", "x", "--action", "yes"],
        ["send", "--user", "a", "x", "--action", "a=1", "--action", "a=2"],
        ["send", "--user", "a", "x", "--interruption-level", "critical"],
        ["send", "--user", "a", "x", "--badge-add", "one"],
        ["send", "--user", "a", "x", "--format", "yaml"], ["send", "--user", "a", "--thread", "t"],
        ["send", "--handle", "apns:ab", "--activity", "stop"], ["send", "--handle", "apns:ab", "--state", "{}"],
        ["send", "--handle", "apns:ab", "--activity", "update", "--state", "7"],
        ["send", "--handle", "apns:ab", "--activity", "update", "--state", "{"],
        ["send", "--handle", "apns:ab", "--activity", "update", "--stale", "soon"],
        ["send", "--handle", "apns:ab", "--activity", "end", "--sound", "s"],
        ["send", "--handle", "apns:ab", "--activity", "end", "--json", "f"],
        ["send", "--users", "-", "--native", "-"], ["send", "--batch", "f", "--label", "l"],
        ["send", "--user", "a", "x", "--ttl", "soon"], ["jobs", "--since", "yesterday"], ["jobs", "--limit", "0"],
        ["jobs", "--state", "done"], ["jobs", "--kind", "sends"], ["jobs", "--service", "adm"],
        ["jobs", "--service", "gcm"],
        ["registrations", "list", "--state", "dead"], ["registrations", "list", "--service", "adm"],
        ["notifications", "--limit", "0"], ["notifications", "--since", "x"],
        ["jobs", "cancel"],
        ["job"], ["job", "x", "--watch", "--deliveries"], ["accounts", "add", "ann"],
        ["accounts", "add", "ann", "--role", "king"], ["accounts", "disable", "ann", "--undo"],
        ["accounts", "change", "ann"],
        ["accounts", "add", "a\nb", "--role", "user"],
        ["send", "--tags", "a", "--tag", "b", "x"], ["send", "--tags", "a"], ["send", "--count"],
        ["send", "--user", "ann", "--count", "--json", "f"], ["send", "--user", "ann", "--count", "--native", "f"],
        ["send", "--user", "ann", "--count", "--watch"], ["accounts", "add", "a:b", "--role", "user"],
        ["accounts", "add", "ann", "--role", "user", "--password", "secret"],
        ["accounts", "add", "ann", "--role", "user", "--password-file", "p", "--password-stdin"],
        ["keys", "create", "k", "--role", "user"], ["keys", "create", "a b", "--role", "sender"], ["apps", "apply"],
        ["registrations", "export", "--service", "apn"], ["dead", "--limit", "0"], ["dead", "--config", "x"],
        ["queues", "pause"],
        ["queues", "pause", "dead"], ["queues", "pause", "send", "--config", "x"],
        ["queues", "resume", "send", "--all-apps", "--app", "a"], ["dead", "replay"],
        ["dead", "show"], ["hub", "import", "--name", "n"],
        ["hub", "import", "--connection-string-file", "f", "--name", ""],
        ["doctor", "--device", "ab"], ["doctor", "--app", "shop"], ["doctor", "--service", "fcm"],
        ["doctor", "--key", "k"],
        ["doctor", "--url", "https://x", "--push"], ["doctor", "--url", "https://x", "--config", "x.yaml"],
        ["doctor", "--push", "--service", "gcm"], ["doctor", "--push", "--app", "A b"],
        ["doctor", "--push", "--credential", ""],
    ])
    func wrongUsageIs64(arguments: [String]) {
        #expect(self.exitCode(arguments) == 64)
    }

    /// As in `pushline jobs` with `head -1` behind it.
    @Test func aReaderThatHasGoneEndsTheProcessQuietly() async {
        await #expect(processExitsWith: .exitCode(128 + SIGPIPE)) {
            // As the HTTP client does.
            signal(SIGPIPE, SIG_IGN)
            let pipe = Pipe()
            try pipe.fileHandleForReading.close()
            Console.write("a line", to: pipe.fileHandleForWriting)
        }
    }

    /// No server is asked: nobody listens on port 1.
    @Test func aPartOfAJobsIdIsRefused() async throws {
        for command in [["job", "0190"], ["job", "0190", "--watch"], ["jobs", "cancel", "0190"]] {
            let arguments = command + ["--url", "http://127.0.0.1:1", "--key", "k"]
            var parsed = try #require(try PushlineCommand.parseAsRoot(arguments) as? any AsyncParsableCommand)
            let failure = await #expect(throws: CommandFailure.self) { try await parsed.run() }
            #expect(failure?.message.hasPrefix("0190 is not a whole job id, which has 36 characters") == true)
        }
    }

    @Test func sendsAreListedUnlessAllJobsAreWanted() throws {
        let list = try #require(try PushlineCommand.parseAsRoot(["jobs"]) as? ListJobsCommand)
        #expect(list.kind == "send")
    }

    @Test func nativePayloadsAreReadFromAFile() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "native-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(#"{"apns":{"payload":{"aps":{"badge":3}}}}"#.utf8).write(to: file)
        #expect(
            try NotificationFile.native(file.path) == Data(#"{"native":{"apns":{"payload":{"aps":{"badge":3}}}}}"#.utf8)
        )
        try Data([0xEF, 0xBB, 0xBF] + Data(#"{ "fcm": {"z": 1.0, "a": 2} }"#.utf8)).write(to: file)
        #expect(try NotificationFile.native(file.path) == Data(#"{"native":{ "fcm": {"z": 1.0, "a": 2} }}"#.utf8))
        #expect(try NotificationFile.members(file.path) == Data(#"{ "fcm": {"z": 1.0, "a": 2} }"#.utf8))
        for (text, words) in [
            (#"{"aps":3}"#, "--native: aps must be an object, not a number; it is the JSON of native"),
            ("{\n7", "--native: line 2, column 1: "), ("[]", "--native: it must be an object, not an array"),
        ] {
            try Data(text.utf8).write(to: file)
            let failure = #expect(throws: CommandFailure.self) { try NotificationFile.native(file.path) }
            #expect(failure?.message.hasPrefix(words) == true, "\(failure?.message ?? "")")
        }
        for text in ["", "{", "[]", #"{"apns":7}"#, #"{"apns":null}"#, #"{"wns":["x"]}"#] {
            try Data(text.utf8).write(to: file)
            #expect(throws: CommandFailure.self, "\(text)") { try NotificationFile.native(file.path) }
        }
    }

    @Test func aMisspeltOptionIsNamed() {
        let error = #expect(throws: (any Error).self) {
            try PushlineCommand.parseAsRoot(["send", "--usr", "ann", "hello"])
        }
        #expect(error.map { PushlineCommand.message(for: $0).contains("--usr") } == true)
    }

    @Test(arguments: [["--help"], ["--version"], ["send", "--help"], ["accounts", "add", "--help"]])
    func helpIsNoFailure(arguments: [String]) {
        // Help is a command of its own, which is parsed and then run.
        #expect((self.exitCode(arguments) ?? 0) == 0)
    }

    @Test func notificationOfASend() throws {
        let command = try SendCommand.parse([
            "--tag", "a", "--tag", "b", "--data", "k=v=w", "--data", "e=", "--service", "apns", "--ttl", "5", "text",
        ])
        let expected = PushNotification(
            to: .tags(["a", "b"]),
            body: "text",
            data: ["k": "v=w", "e": ""],
            services: [.apns],
            ttl: 5
        )
        #expect(try command.notification(to: command.audience()) == expected)
    }

    @Test func anExpressionOfASend() throws {
        let command = try SendCommand.parse(["--tags", "a && !b", "text"])
        #expect(command.audience() == .matching("a && !b"))
        // Counting needs nothing to say.
        #expect(try SendCommand.parse(["--tags", "!a", "--count"]).count)
    }

    @Test func singleDevicesOfASend() throws {
        let handles = try SendCommand.parse(["--handle", "fcm:a:b", "--handle", "wns:https://x/?y=z", "x"])
        #expect(
            handles.audience()
                == .handles([.init(service: .fcm, handle: "a:b"), .init(service: .wns, handle: "https://x/?y=z")])
        )
        #expect(try SendCommand.parse(["--registration", "a", "x"]).audience() == .registrations(["a"]))
        #expect(try SendCommand.parse(["--all", "x"]).audience() == .all)
        #expect(try SendCommand.parse(["--channel", "a/b==", "x"]).audience() == .channel("a/b=="))
        #expect(
            try SendCommand.parse(["--channel", "watch:a/b==", "x"]).audience()
                == .channel("a/b==", credential: "watch")
        )
    }

    @Test func usersOfASend() throws {
        #expect(try SendCommand.parse(["--user", "ann", "x"]).audience() == .user("ann"))
        #expect(try SendCommand.parse(["--user", "ann", "--user", "bob", "x"]).audience() == .users(["ann", "bob"]))
        let pipe = Pipe()
        try pipe.fileHandleForWriting.write(contentsOf: Data("ann\r\n\n  bob \nann\neve".utf8))
        try pipe.fileHandleForWriting.close()
        let piped = try UserList.read("-", standardInput: pipe.fileHandleForReading)
        #expect(try SendCommand.parse(["--users", "-", "x"]).audience(piped) == .users(["ann", "bob", "eve"]))
        #expect(piped.lines == [1, 3, 5])
        let path = FileManager.default.temporaryDirectory.appending(path: "names-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data("ann\n".utf8).write(to: URL(filePath: path))
        #expect(try UserList.read(path).names == ["ann"])
        let missing = #expect(throws: CommandFailure.self) { try UserList.read(path + "-none") }
        #expect(missing?.message == "--users: \(path)-none cannot be read: No such file or directory")
        let folder = FileManager.default.temporaryDirectory.path
        let error = #expect(throws: CommandFailure.self) { try UserList.read(folder) }
        #expect(error?.message == "--users: \(folder) cannot be read: it is a folder")
    }

    @Test func tooManyUsersAreRefusedBeforeTheCall() throws {
        func list(_ count: Int) -> Data { Data((0..<count).map { "user\($0)\n" }.joined().utf8) }
        #expect(try UserList(list(20_000)).names.count == 20_000)
        #expect(throws: CommandFailure.self) { try UserList(list(20_001)) }
        #expect(throws: CommandFailure.self) { try UserList(Data(" \n\n".utf8)) }
        #expect(throws: CommandFailure.self) { try UserList(Data([0xFF, 0x0A])) }
    }

    @Test func serverOfTheEnvironment() throws {
        let options = try ServerOptions.parse([])
        let client = try options.client(environment: [
            "PUSHLINE_URL": "https://h/", "PUSHLINE_KEY": "k", "PUSHLINE_APP": "shop",
        ])
        #expect(client.url.absoluteString == "https://h/")
        #expect(client.app == "shop")
        let other = try ServerOptions.parse(["--url", "http://other", "--app", "b"])
            .client(environment: ["PUSHLINE_URL": "https://h/", "PUSHLINE_KEY": "k", "PUSHLINE_APP": "shop"])
        #expect(other.url.absoluteString == "http://other")
        #expect(other.app == "b")
        let plain = try options.client(environment: ["PUSHLINE_KEY": "k", "PUSHLINE_URL": ""])
        #expect(plain.url.absoluteString == ServerOptions.defaultURL)
        #expect(plain.app == nil)
    }

    @Test(arguments: [
        ("http://push.example", true), ("http://192.0.2.1:8080/x", true), ("http://[2001:db8::1]:80", true),
        ("http://localhost.example", true), ("http://127.0.0.1.example", true), ("https://push.example", false),
        ("http://localhost:8080", false), ("http://api.localhost", false), ("http://127.0.0.1", false),
        ("http://127.1.2.3", false), ("http://[::1]:8080", false),
    ])
    func aKeyOverPlainHTTPToAnotherHostIsWarnedOf(url: String, isWarned: Bool) throws {
        let notes = HostCommandsTests.Lines()
        try Console.$noteCapture.withValue({ notes.add($0) }) {
            _ = try ServerOptions.parse(["--url", url]).client(environment: ["PUSHLINE_KEY": "psk_secret"])
        }
        #expect(notes.all.count == (isWarned ? 1 : 0), "\(notes.all)")
        #expect(notes.all.allSatisfy { $0.contains("without encryption") && !$0.contains("psk_secret") })
    }

    /// Whatever folder a command is begun in may have one.
    @Test func aConfigurationThatNobodyNamedIsSaid() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pushline-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder.appending(path: "Config"), withIntermediateDirectories: true)
        let file = folder.appending(path: "Config/pushline.yaml")
        try Data("store:\n  path: /elsewhere\n".utf8).write(to: file)
        func notes(_ arguments: [String], of files: [String]) throws -> [String] {
            let notes = HostCommandsTests.Lines()
            try Console.$noteCapture.withValue({ notes.add($0) }) {
                _ = try HostOptions.parse(arguments).configuration(of: files)
            }
            return notes.all
        }
        let missing = folder.path + "/none.yaml"
        #expect(try notes([], of: [missing, file.path, "/"]).first?.contains(" \(file.path);") == true)
        #expect(try notes(["--config", file.path], of: []).isEmpty)
        #expect(try notes([], of: [missing]).isEmpty)
    }

    /// What a command asks of the configuration, and of its store, is one reading: a program of its own, for the folder that it begins in counts.
    @Test(
        .timeLimit(.minutes(2)),
        arguments: [
            ["console", "--as", "ann"], ["hub", "rules", "create", "r", "--rights", "send"],
            ["hub", "rules", "rotate", "r", "--key", "primary"],
            ["accounts", "add", "bob", "--role", "user", "--password-file", "password"],
        ]
    )
    func theConfigurationAndTheStoreAreSaidOnce(_ arguments: [String]) async throws {
        let host = try HostCommandsTests.Host()
        let file = host.path("Config/pushline.yaml")
        try FileManager.default.createDirectory(atPath: host.path("Config"), withIntermediateDirectories: true)
        let store = host.path("store.sqlite")
        try host.write("store:\n  path: \(store)\napi:\n  console_port: 8090\n", to: "Config/pushline.yaml")
        _ = try await host.run("apps", "apply", host.path("apps.yaml"))
        _ = try await host.run("accounts", "add", "ann", "--role", "operator", "--password-file", host.path("password"))
        if arguments.contains("rotate") { _ = try await host.run("hub", "rules", "create", "r", "--rights", "send") }
        let program = Process()
        program.executableURL = Bundle.main.bundleURL.appending(path: "pushline")
        program.arguments = arguments
        program.currentDirectoryURL = host.folder
        program.environment = ["PATH": "/usr/bin:/bin", "HOME": host.folder.path]
        let errors = Pipe()
        program.standardInput = FileHandle.nullDevice
        program.standardOutput = FileHandle.nullDevice
        program.standardError = errors
        try program.run()
        let said = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        program.waitUntilExit()
        #expect(program.terminationStatus == 0, "\(said)")
        let lines = said.split(separator: "\n")
        #expect(lines.count { $0.contains("the configuration is \(file);") } == 1, "\(said)")
        #expect(lines.count { $0.contains("the store is \(store)") } == 1, "\(said)")
    }

    @Test(arguments: [[:], ["PUSHLINE_KEY": ""], ["PUSHLINE_KEY": "k", "PUSHLINE_URL": "localhost:8080"]])
    func missingServerOrKey(environment: [String: String]) throws {
        let options = try ServerOptions.parse([])
        let error = #expect(throws: CommandFailure.self) { try options.client(environment: environment) }
        #expect(error?.exitCode.rawValue == 64)
    }

    /// 64 is for the command line alone: a file is another matter.
    @Test func aFileThatCannotBeReadIsAFailure() {
        let error = #expect(throws: CommandFailure.self) { try InputFile.open("/nowhere/at/all") }
        #expect(error?.exitCode.rawValue == 1)
        let empty = #expect(throws: CommandFailure.self) { try UserList(Data("\n".utf8)) }
        #expect(empty?.exitCode.rawValue == 1)
    }

    @Test func passwords() throws {
        #expect(try PasswordInput.password(Data("se cret\n".utf8), from: "x") == "se cret")
        #expect(try PasswordInput.password(Data("secret\r\n".utf8), from: "x") == "secret")
        #expect(try PasswordInput.password(Data("secret ".utf8), from: "x") == "secret ")
        for bytes in [[], Array("\n".utf8), Array("a\nb".utf8), [0xFF], [UInt8](repeating: 97, count: 5000)] {
            #expect(throws: CommandFailure.self) { try PasswordInput.password(Data(bytes), from: "x") }
        }
    }
}
