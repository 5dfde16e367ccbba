package import ArgumentParser
import Installation
import PushlineLogging
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
    /// - Throws: An exit code, after one line with the error, at the level of an error.
    package func run(_ role: ProcessRole) async throws {
        CrashReports.leaveOutMemory()
        var format = LogSettings.Format.text
        do {
            let configuration = try PushlineConfiguration(file: self.config)
            format = configuration.log.format
            try await PushlineProcess(role: role, configuration: configuration).run()
        } catch {
            LineLogHandler.reportEnd(of: role.rawValue, error, format: format)
            throw ExitCode.failure
        }
    }
}
