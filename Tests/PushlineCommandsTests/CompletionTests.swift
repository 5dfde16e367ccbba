import ArgumentParser
import Foundation
import PushModel
import Testing

@testable import PushlineCommands

/// What the shells are told: each reads its script, and those that can be asked without a terminal complete from it.
@Suite struct CompletionTests {
    /// Runs a shell of this machine.
    ///
    /// - Parameters:
    ///   - shell: Its path.
    ///   - script: What it reads from standard input.
    /// - Returns: Its exit code, and what it wrote.
    /// - Throws: Where it cannot be run.
    private static func run(_ shell: String, _ script: String) throws -> (code: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(filePath: shell)
        process.arguments = ["-s"]
        if shell.hasSuffix("fish") { process.arguments = ["--no-config"] }
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data(script.utf8))
        try input.fileHandleForWriting.close()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: text, as: UTF8.self))
    }

    /// What bash offers after these words, of which the last is not finished.
    private static func bash(_ words: [String]) throws -> Set<String> {
        let quoted = words.map { "'\($0)'" }.joined(separator: " ")
        let script = """
            \(PushlineCommand.completionScript(for: .bash))
            COMP_WORDS=(\(quoted)); COMP_CWORD=\(words.count - 1)
            COMP_LINE="${COMP_WORDS[*]}"; COMP_POINT=${#COMP_LINE}
            _pushline pushline "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        return Set(
            try Self.run("/bin/bash", script).output.split(separator: "\n").map {
                $0.trimmingCharacters(in: .whitespaces)
            }
        )
    }

    /// Words, and what bash offers after them.
    static let offers: [([String], Set<String>)] = [
        (["pushline", "que"], ["queues"]),
        (["pushline", "send", "--priority", ""], ["high", "normal"]),
        (["pushline", "send", "--service", ""], Set(PushService.inService.map(\.rawValue))),
        (["pushline", "jobs", "list", "--state", "c"], ["cancelled", "cancelling", "completed"]),
        (["pushline", "jobs", "list", "--kind", ""], ["all", "register", "send"]),
        (["pushline", "registrations", "list", "--service", "m"], ["mpns"]),
        (["pushline", "registrations", "list", "--state", "p"], ["pruned"]),
        (["pushline", "keys", "create", "--role", ""], ["operator", "sender", "viewer"]),
        (["pushline", "accounts", "add", "--role", "u"], ["user"]),
        (["pushline", "queues", "pause", "deliver."], Set(PushService.inService.map { "deliver.\($0.rawValue)" })),
        (["pushline", "queues", "list", "--ca"], ["--ca-file"]),
    ]

    @Test(arguments: CompletionTests.offers)
    func bashCompletes(words: [String], offered: Set<String>) throws {
        #expect(try Self.bash(words) == offered)
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/fish")))
    func fishCompletes() throws {
        let script = PushlineCommand.completionScript(for: .fish)
        let asked = try Self.run("/usr/bin/fish", script + "\ncomplete -C'pushline send --priority '\n")
        #expect(asked.code == 0)
        // Each with the option's help behind a tab.
        #expect(Set(asked.output.split(separator: "\n").map { $0.prefix { $0 != "\t" } }) == ["high", "normal"])
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/zsh")))
    func zshReadsItsScript() throws {
        let script = PushlineCommand.completionScript(for: .zsh)
        // Read as a function's body, as zsh reads it: what is wrong in its syntax ends the shell with another code.
        #expect(try Self.run("/usr/bin/zsh", "f() {\n\(script)\n}\necho read").output == "read\n")
        #expect(script.hasPrefix("#compdef pushline"))
        #expect(script.contains("'deliver.apns' 'deliver.fcm'"))
    }
}
