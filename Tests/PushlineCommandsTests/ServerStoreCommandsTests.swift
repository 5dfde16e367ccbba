import Foundation
import Installation
import PushModel
import Settings
import Testing
import Undisturbed

@testable import PushlineCommands
@testable import StorePostgreSQL

/// The commands of a host whose store is in a PostgreSQL, the one that `deploy/test postgres` starts.
@Suite(.enabled(if: PrivateServer.isThere), .undisturbed) struct ServerStoreCommandsTests {
    private let host: HostCommandsTests.Host
    private let passwordFile: String

    init() throws {
        self.passwordFile = try PrivateServer.file("password")
        self.host = try HostCommandsTests.Host()
        try self.configure(try PrivateServer.newSchema(), self.passwordFile)
    }

    private func configure(_ url: String, _ passwordFile: String) throws {
        let store = "store:\n  url: \"\(url)\"\n  password_file: \"\(passwordFile)\"\n"
        try self.host.write("\(store)broker:\n  url: amqp://127.0.0.1:1/\n", to: "pushline.yaml")
    }

    private func doctor() async throws -> [Finding] {
        let configuration = try PushlineConfiguration(file: self.host.path("pushline.yaml"))
        return await Checkup(configuration: configuration, logger: HostOptions.logger).run()
    }

    private func migrate(_ arguments: String...) async throws -> [String] {
        try await self.host.run(["store", "migrate"] + arguments)
    }

    @Test func theOwnerOfTheTablesTakesTheSteps() async throws {
        let configuration = try PushlineConfiguration(file: self.host.path("pushline.yaml"))
        let url = try #require(configuration.store.url)
        let role = try #require(ServerAddresses(url).role)
        #expect(
            try await self.migrate("--dry-run") == [
                "version 0", "version 1: expands: makes the tables", "version 2: expands: adds the table act",
            ]
        )
        let nobody = await #expect(throws: ConfigurationError.self) { try await self.migrate() }
        #expect(nobody?.message.hasSuffix("--owner names it") == true)
        let own = await #expect(throws: CommandFailure.self) {
            try await self.migrate("--owner", role, "--password-file", self.passwordFile)
        }
        #expect(own?.message.contains("must not own the tables") == true)
        await #expect(throws: CommandFailure.self) { try await self.migrate("--backup", self.host.path("copy")) }
        let made = try await self.migrate("--owner", "owner", "--password-file", self.passwordFile)
        #expect(made.count == 1 && made[0].hasSuffix(", database postgres: version 2 now"), "\(made)")
        #expect(try await self.migrate("--dry-run") == ["version 2: nothing to do"])
        #expect(try await self.migrate()[0].hasSuffix("version 2, nothing to do"))
        let acts = try await self.host.run(["audit", "--all"])
        #expect(acts.count == 2 && acts[1].contains("store.migrate") && acts[1].contains("version 2"), "\(acts)")
    }

    @Test func whatOnlyAFileHasIsAnsweredInOneLine() async throws {
        try self.host.write("", to: "copy")
        for command in ["backup", "restore"] {
            let failure = await #expect(throws: CommandFailure.self) {
                try await self.host.run("store", command, self.host.path("copy"))
            }
            #expect(failure?.message.contains("PostgreSQL makes its own backups") == true)
        }
    }

    @Test func theDoctorAsksTheServers() async throws {
        let before = try await self.doctor()
        #expect(before.contains { $0.subject == "PostgreSQL tables" && !$0.isRight }, "\(before)")
        #expect(before.first { $0.subject == "store" }?.words.contains("pushline store migrate") == true)
        _ = try await self.migrate("--owner", "owner", "--password-file", self.passwordFile)
        let found = try await self.doctor()
        for subject in ["PostgreSQL server", "PostgreSQL tables", "PostgreSQL commits", "PostgreSQL snapshots"] {
            #expect(found.contains { $0.subject == subject && $0.isRight }, "\(subject)")
        }
    }

    @Test func noLineHasThePassword() async throws {
        let wrong = "not the right one"
        try self.host.write(wrong, to: "password")
        let url = try #require(PushlineConfiguration(file: self.host.path("pushline.yaml")).store.url)
        try self.configure(url, self.host.path("password"))
        let found = try await self.doctor()
        let refusal = try #require(found.first { $0.subject == "PostgreSQL server" })
        #expect(!refusal.isRight && refusal.words.contains("password authentication failed"), "\(refusal.words)")
        #expect(found.allSatisfy { !$0.words.contains(wrong) })
        let error = await #expect(throws: (any Error).self) { try await self.migrate("--dry-run") }
        #expect(error.map { !"\($0)".contains(wrong) } == true)
    }
}
