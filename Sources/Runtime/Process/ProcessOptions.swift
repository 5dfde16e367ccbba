package import ArgumentParser
import Foundation
import Installation
import Settings

/// The command line of every server process.
package struct ProcessOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The configuration file; PUSHLINE_… environment variables override it.",
            discussion: "Without it: \(PushlineConfiguration.defaultFilesText), where that exists.",
            valueName: "file"
        )
    )
    package var config: String?

    package init() {}

    /// Runs the process until a signal ends it.
    ///
    /// - Parameter role: The process's role.
    /// - Throws: An exit code, after one line with the error.
    package func run(_ role: ProcessRole) async throws {
        CrashReports.leaveOutMemory()
        do {
            let configuration = try PushlineConfiguration(file: self.config)
            try await PushlineProcess(role: role, configuration: configuration).run()
        } catch {
            FileHandle.standardError.write(Data("\(role.rawValue): \(error)\n".utf8))
            throw ExitCode.failure
        }
    }
}
