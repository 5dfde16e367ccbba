import ArgumentParser
import Foundation
import Installation
import PushModel
import PushlineSimulator
import Settings
import Store
import Testing
import Undisturbed

@testable import PushlineCommands

/// The commands that work on a store of this host, each test with a store of its own.
@Suite(.undisturbed) struct HostCommandsTests {
    /// A folder with a configuration, an apps file and a password file; removed at the end.
    final class Host: Sendable {
        let folder: URL

        init() throws {
            self.folder = FileManager.default.temporaryDirectory.appending(path: "pushline-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
            try self.write("store:\n  path: \(self.path("store.sqlite"))\n", to: "pushline.yaml")
            try self.write("apps:\n  default:\n    reserved_tags: [vip]\n  shop: {}\n", to: "apps.yaml")
            try self.write("secret word\n", to: "password")
        }

        deinit { try? FileManager.default.removeItem(at: self.folder) }

        func path(_ name: String) -> String { self.folder.appending(path: name).path(percentEncoded: false) }

        func write(_ text: String, to name: String) throws {
            try text.write(to: self.folder.appending(path: name), atomically: true, encoding: .utf8)
        }

        /// Runs a command with our configuration and returns what it prints.
        func run(_ arguments: String...) async throws -> [String] { try await self.run(arguments) }

        func run(_ arguments: [String]) async throws -> [String] {
            let lines = Lines()
            let command = try PushlineCommand.parseAsRoot(arguments + ["--config", self.path("pushline.yaml")])
            try await Console.$capture.withValue({ lines.add($0) }) {
                guard var command = command as? any AsyncParsableCommand else { throw ExitCode.validationFailure }
                try await command.run()
            }
            return lines.all
        }
    }

    /// What was printed; the lock guards it.
    final class Lines: @unchecked Sendable {
        private let lock = NSLock()
        private var lines: [String] = []

        func add(_ line: String) { self.lock.withLock { self.lines.append(line) } }
        var all: [String] { self.lock.withLock { self.lines } }
    }

    @Test func aStoreIsBackedUpCheckedAndRestored() async throws {
        let host = try Host()
        await #expect(throws: CommandFailure.self) { try await host.run("store", "check") }
        await #expect(throws: CommandFailure.self) { try await host.run("store", "backup", host.path("copy")) }
        _ = try await host.run("apps", "apply", host.path("apps.yaml"))
        #expect(try await host.run("store", "backup", host.path("copy")).count == 1)
        #expect(try await host.run("store", "check") == ["0 jobs: all adds up"])
        // A folder is none that a copy is written into, unless it is asked for.
        let failure = await #expect(throws: CommandFailure.self) {
            try await host.run("store", "backup", host.folder.path(percentEncoded: false))
        }
        #expect(failure?.message.contains("give --keep N") == true)
        // Neither a copy nor a store is overwritten.
        await #expect(throws: CommandFailure.self) { try await host.run("store", "backup", host.path("copy")) }
        await #expect(throws: CommandFailure.self) { try await host.run("store", "restore", host.path("copy")) }
        for name in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: host.path("store.sqlite" + name))
        {
            try FileManager.default.removeItem(atPath: host.path("store.sqlite" + name))
        }
        await #expect(throws: CommandFailure.self) { try await host.run("store", "restore", host.path("nothing")) }
        #expect(try await host.run("store", "restore", host.path("copy")).count == 2)
        #expect(
            try await host.run("apps", "apply", host.path("apps.yaml")) == ["default: unchanged", "shop: unchanged"]
        )
        #expect(try await host.run("store", "check") == ["0 jobs: all adds up"])
    }

    /// Acts of the host are in its store: those of one app, of all, and of the store itself.
    @Test func whatIsDoneOnTheHostHasAnEntry() async throws {
        let host = try Host()
        _ = try await host.run("apps", "apply", host.path("apps.yaml"))
        _ = try await host.run("apps", "apply", host.path("apps.yaml"))
        _ = try await host.run(
            "accounts",
            "add",
            "ann",
            "--role",
            "operator",
            "--password-file",
            host.path("password")
        )
        _ = try await host.run("keys", "create", "ops", "--role", "operator", "--app", "shop")
        await #expect(throws: CommandFailure.self) {
            try await host.run("keys", "create", "ops", "--role", "operator", "--app", "shop")
        }
        _ = try await host.run("queues", "pause", "send", "--all-apps")
        _ = try await host.run("store", "backup", host.path("copy"))
        for name in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: host.path("store.sqlite" + name))
        {
            try FileManager.default.removeItem(atPath: host.path("store.sqlite" + name))
        }
        _ = try await host.run("store", "restore", "--stop-unfinished", host.path("copy"))
        let entries = try await host.run("audit", "--all", "--format", "json").joined()
        let acts = try JSONDecoder().decode([Entry].self, from: Data(entries.utf8)).reversed().map(\.words)
        #expect(
            acts == [
                "default app.apply done", "shop app.apply done", "default account.add ann operator done",
                "shop key.add ops, operator done", "shop key.add ops, operator refused conflict",
                "queue.pause send, all apps done", "store.restore unfinished sends stopped done",
            ]
        )
        let lines = try await host.run("audit", "--all", "--action", "queue.pause")
        #expect(lines.count == 2 && lines[1].contains("host:\(NSUserName())"), "\(lines)")
        #expect(try await host.run("audit", "--all", "--state", "begun") == ["No entry matches."])
    }

    private struct Entry: Decodable {
        let app, user, target, result: String?
        let action, state: String

        var words: String {
            [self.app, self.action, self.user, self.target, self.state, self.result].compactMap(\.self)
                .joined(separator: " ")
        }
    }

    @Test func aFolderKeepsTheLatestBackups() async throws {
        let host = try Host()
        _ = try await host.run("apps", "apply", host.path("apps.yaml"))
        let configured = Composition.store(try PushlineConfiguration(file: host.path("pushline.yaml")))
        #expect(try await configured.open(logger: HostOptions.logger).room.backup == nil)
        let (oldest, old) = ("pushline-20200101T000000Z.sqlite", "pushline-20200102T000000Z.sqlite")
        try FileManager.default.createDirectory(atPath: host.path("backups"), withIntermediateDirectories: false)
        for name in [oldest, old, "pushline-mine.sqlite"] { try host.write("", to: "backups/\(name)") }
        let lines = try await host.run("store", "backup", "--keep", "2", host.path("backups"))
        #expect(lines.count == 2)
        #expect(lines[1] == "\(host.path("backups/\(oldest)")): removed")
        let left = try FileManager.default.contentsOfDirectory(atPath: host.path("backups")).sorted()
        #expect(left.count == 3)
        #expect(left[0] == old)
        #expect(left[2] == "pushline-mine.sqlite")
        let backup = try #require(try await configured.open(logger: HostOptions.logger).room.backup)
        #expect(abs(Timestamp.now.milliseconds - backup.milliseconds) < 60_000)
        #expect(throws: (any Error).self) {
            _ = try PushlineCommand.parseAsRoot(["store", "backup", "--keep", "0", "folder"])
        }
    }

    /// Which file, what is wrong with it, and what to do: not SQLite's number alone.
    @Test func aDamagedFileIsReportedByName() async throws {
        let host = try Host()
        try host.write("SQLite format 3\0 and nothing else", to: "damaged")
        let failure = await #expect(throws: CommandFailure.self) {
            try await host.run("store", "restore", host.path("damaged"))
        }
        #expect(failure?.message.hasPrefix("\(host.path("damaged")) cannot be copied: the file is") == true)
        try host.write("no store", to: "other")
        let other = await #expect(throws: CommandFailure.self) {
            try await host.run("store", "restore", host.path("other"))
        }
        #expect(other?.message.contains("the file is not a SQLite database") == true)
        _ = try await host.run("apps", "apply", host.path("apps.yaml"))
        let nowhere = await #expect(throws: CommandFailure.self) {
            try await host.run("store", "backup", host.path("nowhere/copy"))
        }
        #expect(
            nowhere?.message.hasSuffix("\(host.path("nowhere/copy")) cannot be written: No such file or directory")
                == true
        )
    }

    @Test func queuesOfAllAppsArePausedOnTheHost() async throws {
        let host = try Host()
        _ = try await host.run("apps", "apply", host.path("apps.yaml"))
        #expect(
            try await host.run("queues", "pause", "deliver.apns", "--all-apps") == ["deliver.apns: paused for all apps"]
        )
        #expect(
            try await host.run("queues", "resume", "deliver.apns", "--all-apps")
                == ["deliver.apns: resumed for all apps"]
        )
        #expect(
            try await host.run("queues", "resume", "deliver.apns", "--all-apps")
                == ["deliver.apns: was not paused for all apps"]
        )
    }

    /// No app's operator sees them, so whoever has the host does.
    @Test func deadLettersOfNoAppAreTheHosts() async throws {
        let host = try Host()
        _ = try await host.run("apps", "apply", host.path("apps.yaml"))
        let configuration = try PushlineConfiguration(file: host.path("pushline.yaml"), environment: [:])
        let store = try await Composition.store(configuration).open(logger: HostOptions.logger)
        try await store.deadLetter(
            IncomingDeadLetter(queue: "q", type: "t", messageID: "m", app: nil, reason: "lost", body: [1, 2])
        )
        let listed = try await host.run("dead", "list", "--of-no-app")
        #expect(listed.count == 2 && listed[1].hasSuffix("lost"), "\(listed)")
        #expect(try await host.run("dead", "discard", "1", "--of-no-app") == ["1: discarded"])
        #expect(try await host.run("dead", "list", "--of-no-app") == ["No dead letters."])
        let gone = await #expect(throws: CommandFailure.self) {
            try await host.run("dead", "discard", "1", "--of-no-app")
        }
        #expect(gone?.message == "there is no dead letter 1 that names no declared app")
    }

    /// What an app's operators have paused stays so, and nothing says otherwise.
    @Test func anAppsOwnPauseOutlivesAPauseOfAllApps() async throws {
        let host = try Host()
        _ = try await host.run("apps", "apply", host.path("apps.yaml"))
        let configuration = try PushlineConfiguration(file: host.path("pushline.yaml"), environment: [:])
        let store = try await Composition.store(configuration).open(logger: HostOptions.logger)
        try await store.apply(.pause(.begin(.send, app: try AppID("shop"), by: "key:k")))
        #expect(
            try await host.run("queues", "pause", "send", "--all-apps")
                == ["send: paused for all apps; shop: paused on its own too"]
        )
        let resumed = try await host.run("queues", "resume", "send", "--all-apps", "--format", "json").joined()
        let answer = try #require(try JSONSerialization.jsonObject(with: Data(resumed.utf8)) as? [String: Any])
        #expect(answer["allApps"] as? Bool == false)
        #expect(answer["paused"] as? Bool == true)
        #expect(answer["apps"] as? [String] == ["shop"])
        #expect(try await store.pauses().map(\.by) == ["key:k"])
    }

    @Test func applyingIsRepeatable() async throws {
        let host = try Host()
        #expect(try await host.run("apps", "apply", host.path("apps.yaml")) == ["default: declared", "shop: declared"])
        #expect(
            try await host.run("apps", "apply", host.path("apps.yaml")) == ["default: unchanged", "shop: unchanged"]
        )
        try host.write("apps:\n  default:\n    reserved_tags: [vip, staff]\n", to: "apps.yaml")
        #expect(
            try await host.run("apps", "apply", host.path("apps.yaml"))
                == ["default: changed", "  reserved_tags: [vip] -> [vip, staff]"]
        )
        let shown = try await host.run("apps", "show", "--format", "json").joined()
        let apps = try #require(try JSONSerialization.jsonObject(with: Data(shown.utf8)) as? [String: [String: Any]])
        #expect(Set(apps.keys) == ["default", "shop"])
        #expect(apps["default"]?["reserved_tags"] as? [String] == ["vip", "staff"])
        #expect(try await host.run("apps", "show", "shop").first == "shop:")
    }

    @Test func aCredentialFileThatIsNotThereIsSaid() async throws {
        let host = try Host()
        try host.write("apps:\n  default: {fcm: {service_account_file: missing.json}}\n", to: "apps.yaml")
        let notes = Lines()
        try await Console.$noteCapture.withValue({ notes.add($0) }) {
            _ = try await host.run("apps", "apply", host.path("apps.yaml"))
        }
        #expect(
            notes.all.first
                == "pushline: apps.default.fcm.service_account_file: \(host.path("missing.json")): there is no such file; "
                + "sends by FCM wait until it is there"
        )
    }

    @Test func commandsThatWriteNameTheStore() async throws {
        let host = try Host()
        let path = host.path("store.sqlite")
        let notes = Lines()
        try await Console.$noteCapture.withValue({ notes.add($0) }) {
            for _ in 1...2 { _ = try await host.run("apps", "apply", host.path("apps.yaml")) }
            _ = try await host.run("apps", "show")
        }
        #expect(
            notes.all == [
                "pushline: there was no store at \(path): it was made new", "pushline: the store is \(path)",
            ]
        )
    }

    @Test func anErrorInTheAppsFileChangesNothing() async throws {
        let host = try Host()
        try host.write("apps:\n  default: {}\n  shop: {userss: exact}\n", to: "apps.yaml")
        await #expect(throws: SettingFault.self) { try await host.run("apps", "apply", host.path("apps.yaml")) }
        let failure = await #expect(throws: CommandFailure.self) {
            try await host.run("apps", "show", "--format", "json")
        }
        #expect(failure?.message.contains("there is no store at \(host.path("store.sqlite"))") == true)
    }

    @Test func accountsAndKeys() async throws {
        let host = try Host()
        let add = ["accounts", "add", "ann", "--role", "user", "--password-file", host.path("password")]
        // A wrong path would look right if they made a store; and nobody is asked for a password for nothing.
        let unasked = ["accounts", "add", "ann", "--role", "user", "--password-file", host.path("no-password")]
        for command in [add, unasked, ["keys", "create", "k", "--role", "sender"]] {
            let failure = await #expect(throws: CommandFailure.self) { try await host.run(command) }
            #expect(failure?.message.contains("pushline apps apply FILE makes it") == true)
        }
        #expect(!FileManager.default.fileExists(atPath: host.path("store.sqlite")))
        _ = try await host.run("apps", "apply", host.path("apps.yaml"))
        #expect(
            try await host.run(add) == [
                "ann: added to default as user"
            ]
        )
        #expect(
            try await host.run("accounts", "add", "ann", "--role", "sender", "--password-file", host.path("password"))
                == ["ann: password and role set in default as sender"]
        )
        let secret = try await host.run("keys", "create", "backend", "--role", "sender", "--app", "shop")
        #expect(secret.count == 1)
        #expect(secret.first?.hasPrefix("plk_") == true)
        let again = await #expect(throws: CommandFailure.self) {
            try await host.run("keys", "create", "backend", "--role", "sender", "--app", "shop")
        }
        #expect(again?.message == "shop has a key named \"backend\"; choose another name")
        let configuration = try PushlineConfiguration(file: host.path("pushline.yaml"), environment: [:])
        let store = try await Composition.store(configuration).open(logger: HostOptions.logger)
        _ = try await store.apply(.key(.revoke(named: "backend", app: try AppID("shop"))))
        let revoked = await #expect(throws: CommandFailure.self) {
            try await host.run("keys", "create", "backend", "--role", "sender", "--app", "shop")
        }
        #expect(revoked?.message.hasPrefix("the name \"backend\" belongs to a revoked key of shop") == true)
        await #expect(throws: CommandFailure.self) {
            try await host.run("keys", "create", "k", "--role", "sender", "--app", "nowhere")
        }
    }

    @Test func aRuleOfAHubIsMadeOnceRotatedAndDeleted() async throws {
        let host = try Host()
        try host.write("apps:\n  default: {}\n", to: "apps.yaml")
        _ = try await host.run("apps", "apply", host.path("apps.yaml"))
        let create = [
            "hub", "rules", "create", "backend", "--rights", "send,listen,manage", "--endpoint", "push.example",
        ]
        let made = try #require(try await host.run(create).first)
        #expect(made.hasPrefix("Endpoint=sb://push.example/;SharedAccessKeyName=backend;SharedAccessKey="))
        await #expect(throws: CommandFailure.self) { try await host.run(create) }
        let rotated = try await host.run("hub", "rules", "rotate", "backend", "--key", "secondary")
        #expect(
            rotated.first?.hasPrefix("Endpoint=sb://127.0.0.1:8443/;SharedAccessKeyName=backend;SharedAccessKey=")
                == true
        )
        let list = try await host.run("hub", "rules", "list")
        #expect(list.count == 1 && list.first?.hasPrefix("backend: listen, manage, send, created ") == true)
        await #expect(throws: CommandFailure.self) {
            try await host.run("hub", "rules", "rotate", "other", "--key", "primary")
        }
        #expect(try await host.run("hub", "rules", "delete", "backend") == ["backend: deleted from default"])
        await #expect(throws: CommandFailure.self) { try await host.run("hub", "rules", "delete", "backend") }
    }

    @Test func anAccountThatDiffersByLetterCaseIsNamed() async throws {
        let host = try Host()
        try host.write("apps:\n  default: {}\n  shop: {users: exact}\n", to: "apps.yaml")
        _ = try await host.run("apps", "apply", host.path("apps.yaml"))
        func add(_ name: String, _ app: String) async throws -> [String] {
            try await host.run(
                "accounts",
                "add",
                name,
                "--role",
                "user",
                "--app",
                app,
                "--password-file",
                host.path("password")
            )
        }
        #expect(try await add("Ann", "default") == ["Ann: added to default as user"])
        let failure = await #expect(throws: CommandFailure.self) { try await add("ann", "default") }
        #expect(failure?.message.contains("default already has the account Ann") == true)
        #expect(failure?.message.contains("add Ann to change it") == true)
        #expect(try await add("Ann", "default") == ["Ann: password and role set in default as user"])
        for name in ["Ann", "ann"] { #expect(try await add(name, "shop") == ["\(name): added to shop as user"]) }
    }

    @Test func theComparisonOfUserNamesIsFixedOnceRegistrationsExist() async throws {
        let host = try Host()
        try host.write("apps:\n  default: {users: exact}\n", to: "apps.yaml")
        #expect(try await host.run("apps", "apply", host.path("apps.yaml")) == ["default: declared"])
        try host.write("apps:\n  default: {}\n", to: "apps.yaml")
        #expect(
            try await host.run("apps", "apply", host.path("apps.yaml"))
                == ["default: changed", "  users: exact -> folded"]
        )
        let configuration = try PushlineConfiguration(file: host.path("pushline.yaml"), environment: [:])
        let store = try await Composition.store(configuration).open(logger: HostOptions.logger)
        _ = try await store.importRegistrations(
            [ImportedRegistration(pns: .fcm, handle: Handle(stored: "h"))],
            app: .default,
            sequence: nil,
            lifetime: nil
        )
        try host.write("apps:\n  default: {users: exact}\n", to: "apps.yaml")
        let failure = await #expect(throws: CommandFailure.self) {
            try await host.run("apps", "apply", host.path("apps.yaml"))
        }
        #expect(failure?.message.hasPrefix("apps.default: users is fixed once an app has registrations") == true)
        #expect(failure?.message.contains("pushline registrations export and import") == true)
        let shown = try await host.run("apps", "show", "--format", "json").joined()
        #expect(shown.contains(#""users": "folded""#) || shown.contains(#""users":"folded""#))
    }

    @Test func doctorSaysWhatToDo() async throws {
        let host = try Host()
        try host.write(
            "store:\n  path: \(host.path("store.sqlite"))\nbroker:\n  url: http://127.0.0.1/\n"
                + "api:\n  connections: 16\n",
            to: "pushline.yaml"
        )
        try host.write(
            "apps:\n  default: {fcm: {service_account_file: missing.json}}\n  old: {}\n  shop: {}\n",
            to: "apps.yaml"
        )
        _ = try await host.run("apps", "apply", host.path("apps.yaml"))
        // An app whose keys are all revoked, and that has no accounts.
        _ = try await host.run("keys", "create", "k", "--role", "sender", "--app", "old")
        let configuration = try PushlineConfiguration(file: host.path("pushline.yaml"), environment: [:])
        let store = try await Composition.store(configuration).open(logger: HostOptions.logger)
        _ = try await store.apply(.key(.revoke(named: "k", app: try AppID("old"))))
        let found = try await self.doctor(host)
        try #require(found.count == 7)
        #expect(found[0].hasPrefix("ok     configuration  \(host.path("pushline.yaml")) "))
        #expect(found[1].hasPrefix("ok     store"))
        #expect(found[2].hasPrefix("wrong  broker"))
        #expect(found[3].hasPrefix("wrong  default fcm") && found[3].contains("missing.json"))
        #expect(found[4].hasPrefix("ok     old") && found[4].contains("retired"))
        #expect(found[5].hasPrefix("wrong  shop") && found[5].contains("declares no push service"))
        #expect(found[6].hasPrefix("wrong  api") && found[6].hasSuffix("listens on port 8080: start pushline-api"))
    }

    @Test func doctorKnowsWhenACertificateEnds() async throws {
        let host = try Host()
        try host.write(
            "store:\n  path: \(host.path("store.sqlite"))\nbroker:\n  url: http://127.0.0.1/\n",
            to: "pushline.yaml"
        )
        try host.write(
            "apps:\n  default: {apns: {certificate_file: push.pem, topic: com.example.app}}\n",
            to: "apps.yaml"
        )
        try await withSimulator { simulator in
            for (days, start, words) in [
                (40.0, "ok ", "right form"), (20.5, "ok ", "apns.certificate_file ends on "),
                (-2.0, "wrong ", "ended on "),
            ] {
                let issued = try simulator.credentials.issue(until: .now + days * 86_400)
                try host.write(issued.certificate + "\n" + issued.privateKey, to: "push.pem")
                _ = try await host.run("apps", "apply", host.path("apps.yaml"))
                let lines = try await self.doctor(host).filter { $0.contains(" default apns ") }
                #expect(lines.count == 1)
                #expect(lines.first?.hasPrefix(start) == true && lines.first?.contains(words) == true, "\(lines)")
            }
        }
    }

    /// What a doctor who finds faults prints, but for the lines on descriptors and on root, which tell of the machine.
    private func doctor(_ host: Host) async throws -> [String] {
        let lines = Lines()
        let command = try PushlineCommand.parseAsRoot(["doctor", "--config", host.path("pushline.yaml")])
        let doctor = try #require(command as? DoctorCommand)
        await #expect(throws: ExitCode.failure) {
            try await Console.$capture.withValue({ lines.add($0) }) { try await doctor.run() }
        }
        let descriptors = lines.all.filter { $0.contains(" descriptors ") }
        #expect(descriptors.count == 1)
        return lines.all.filter { !descriptors.contains($0) && !$0.hasPrefix("ok     root ") }
    }

    @Test func doctorCreatesNoStoreAndReportsAMissingBroker() async throws {
        let host = try Host()
        // Nobody listens on port 1.
        try host.write(
            "store:\n  path: \(host.path("none.sqlite"))\nbroker:\n  url: amqp://127.0.0.1:1/\n"
                + "api:\n  connections: 16\n",
            to: "pushline.yaml"
        )
        let found = try await self.doctor(host)
        let subjects = found.map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
        #expect(subjects == ["ok configuration", "wrong store", "wrong broker", "ok broker"])
        #expect(found[1].contains("there is none") && found[1].contains("pushline apps apply"))
        #expect(found[2].contains("start RabbitMQ"))
        // An address without a user means this one.
        #expect(found[3].contains("broker user") && found[3].contains("guest, RabbitMQ's default user"))
        #expect(!FileManager.default.fileExists(atPath: host.path("none.sqlite")))
    }
}
