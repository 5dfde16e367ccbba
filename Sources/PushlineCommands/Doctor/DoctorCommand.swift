import ArgumentParser
import Foundation
import Installation
import PushModel
import Settings

/// `pushline doctor`.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract:
            "Check this host's configuration, store, broker and credentials, and say how to fix what is wrong.",
        discussion:
            "Declares missing queues at the broker, and reads the keys of apps' own tokens. Sends nothing to a push service."
    )

    @OptionGroup var host: HostOptions

    func run() async throws {
        var findings: [Finding] = []
        do {
            let configuration = try PushlineConfiguration(file: self.host.config)
            findings.append(.right("configuration", Self.place(of: PushlineConfiguration.chosenFile(self.host.config))))
            let unknown = PushlineConfiguration.unknownVariables()
            if !unknown.isEmpty {
                let names = unknown.joined(separator: ", ")
                findings.append(.wrong("environment", "nothing reads \(names): correct or unset"))
            }
            findings += await Checkup(configuration: configuration, logger: HostOptions.logger).run()
        } catch let error as ConfigurationError {
            findings.append(.wrong("configuration", "\(error)"))
        }
        let width = findings.map(\.subject.count).max() ?? 0
        self.host.show(.array(findings.map(\.json))) { findings.map { $0.line(width: width) } }
        if findings.contains(where: { !$0.isRight }) { throw ExitCode.failure }
    }

    /// The absolute path of the configuration file, so that its folder is visible.
    private static func place(of file: String?) -> String {
        guard let file else {
            return "no file, for there is no \(PushlineConfiguration.defaultFilesText): defaults and environment"
        }
        return "\(URL(filePath: file).standardizedFileURL.path(percentEncoded: false)) and environment"
    }
}

/// The result of a check.
struct Finding: Sendable, Equatable {
    /// Such as `broker`.
    let subject: String
    let isRight: Bool
    /// The observation; for a fault, with the remedy.
    let words: String

    static func right(_ subject: String, _ words: String) -> Finding {
        Finding(subject: subject, isRight: true, words: words)
    }

    static func wrong(_ subject: String, _ words: String) -> Finding {
        Finding(subject: subject, isRight: false, words: words)
    }

    func line(width: Int) -> String {
        let space = String(repeating: " ", count: max(0, width - self.subject.count))
        return "\(self.isRight ? "ok   " : "wrong")  \(self.subject)\(space)  \(Console.safe(self.words))"
    }

    var json: JSONValue {
        .members(["check": .string(self.subject), "ok": .bool(self.isRight), "detail": .string(self.words)])
    }
}
