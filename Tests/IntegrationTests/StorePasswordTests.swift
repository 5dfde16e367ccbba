import Foundation
import InstallationSupport
import TestStores
import Testing
import Undisturbed

/// Whoever sees logs, lists of processes and what commands print alone learns no password of the store's.
@Suite(.enabled(if: TestStore.isAtServer), .timeLimit(.minutes(4)), .undisturbed) struct StorePasswordTests {
    private static let wrong = "Wrong-Marker-q7Z"
    private static let refusal = "password authentication failed"

    @Test func noLogNoProcessAndNoCommandShowsIt() async throws {
        // They tell all that they have to tell.
        try await withInstallation(environment: ["PUSHLINE_LOG_LEVEL": "trace"]) {
            let installation = try #require(EndToEndInstallation.current)
            let file = try #require(installation.environment["PUSHLINE_STORE_PASSWORD_FILE"])
            let right = try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .newlines)
            let other = installation.file("wrong")
            try Self.wrong.write(to: other, atomically: true, encoding: .utf8)
            let isRefused = ["PUSHLINE_STORE_PASSWORD_FILE": other.path]
            try await installation.register("alice", platform: "apns", handle: String(repeating: "ab", count: 32))
            _ = try await installation.startHub()
            var seen = try await Self.programs(installation, thatAreRefused: isRefused)
            try await seen.merge(Self.commands(installation, thatAreRefused: isRefused)) { $1 }
            for secret in [right, Self.wrong] {
                for text in [secret, Data(secret.utf8).base64EncodedString()] {
                    #expect(seen.filter { $0.value.contains(text) }.keys.sorted() == [])
                }
            }
        }
    }

    /// Logs, and what anybody on the host sees of a process.
    private static func programs(
        _ installation: EndToEndInstallation,
        thatAreRefused isRefused: [String: String]
    ) async throws -> [String: String] {
        var seen: [String: String] = [:]
        for program in EndToEndInstallation.programs + ["hub"] {
            let process = try #require(await installation.processIdentifier(of: program))
            for name in ["cmdline", "environ"] {
                let data = try Data(contentsOf: URL(filePath: "/proc/\(process)/\(name)"))
                seen["\(program): \(name)"] = String(decoding: data, as: UTF8.self)
                #expect(!data.isEmpty)
            }
            let log = try await installation.log(of: program)
            #expect(log.contains(" debug ") && !log.contains(Self.refusal), "\(program)")
            seen["\(program): log"] = log
        }
        for program in EndToEndInstallation.programs {
            let name = "\(program)-refused"
            try await installation.start(program, as: name, environment: isRefused)
            try await eventually("\(name) has ended") { await installation.hasEnded(name) }
            let log = try await installation.log(of: name)
            #expect(log.contains(Self.refusal), "\(log)")
            seen["\(name): log"] = log
        }
        return seen
    }

    private static func commands(
        _ installation: EndToEndInstallation,
        thatAreRefused isRefused: [String: String]
    ) async throws -> [String: String] {
        var seen: [String: String] = [:]
        for arguments in [["doctor"], ["store", "check"], ["store", "migrate", "--dry-run"]] {
            for environment in [[:], isRefused] {
                let output = try await installation.runPushline(arguments, environment: environment).output
                #expect(output.contains(Self.refusal) == !environment.isEmpty, "\(arguments): \(output)")
                seen["\(arguments) \(environment)"] = output
            }
        }
        return seen
    }
}
