package import ArgumentParser
import Foundation
import Installation

/// What every server process is told on its command line.
package struct ProcessOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The configuration file; PUSHLINE_… environment variables override it.",
            discussion: "Without it: \(PushlineConfiguration.defaultFile), where that exists.",
            valueName: "file"
        )
    )
    package var config: String?

    package init() {}

    /// Runs the process until it is told to end.
    ///
    /// - Parameter role: Which process it is.
    /// - Throws: An exit code after one line that says what is wrong.
    package func run(_ role: ProcessRole) async throws {
        do {
            let configuration = try await PushlineConfiguration(file: self.config)
            try await PushlineProcess(role: role, configuration: configuration).run()
        } catch {
            FileHandle.standardError.write(Data("\(role.rawValue): \(error)\n".utf8))
            throw ExitCode.failure
        }
    }
}
