import Foundation
import Testing

/// What a program says that cannot start.
@Suite(.timeLimit(.minutes(2))) struct StartFailureTests {
    private static let programs = [
        "pushline-api", "pushline-hub", "pushline-register-worker", "pushline-send-worker", "pushline-delivery-worker",
        "pushline-simulator",
    ]
    private static let secret = "a-password-that-nobody-logs"

    /// Runs a program that ends by itself.
    ///
    /// - Parameters:
    ///   - program: Its name.
    ///   - configuration: Its configuration file's text.
    ///   - isJournal: Whether it shall take its standard error for the journal's.
    /// - Returns: Its exit status, and what it wrote to standard error.
    /// - Throws: What the system says of its files or its start.
    private static func run(
        _ program: String,
        _ configuration: String,
        isJournal: Bool
    ) throws -> (status: Int32, errors: String) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pushline-start-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (file, output) = (folder.appending(path: "pushline.yaml"), folder.appending(path: "errors"))
        try Data(configuration.utf8).write(to: file)
        try Data().write(to: output)
        var environment = [
            "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "",
            "PUSHLINE_STORE_PATH": folder.appending(path: "store.sqlite").path,
        ]
        if isJournal {
            var status = stat()
            try #require(unsafe stat(output.path, &status) == 0)
            environment["JOURNAL_STREAM"] = "\(status.st_dev):\(status.st_ino)"
        }
        let process = Process()
        process.executableURL = Bundle.main.bundleURL.appending(path: program)
        process.arguments = ["--config", file.path]
        process.currentDirectoryURL = folder
        process.environment = environment
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = try FileHandle(forWritingTo: output)
        try process.run()
        process.waitUntilExit()
        return (process.terminationStatus, try String(contentsOf: output, encoding: .utf8))
    }

    /// An unknown key is found while the configuration is read, a missing authority after that.
    @Test(arguments: Self.programs, [true, false])
    func theReasonIsOneLineAtTheLevelOfAnError(_ program: String, isJournal: Bool) throws {
        let sections = [
            "simulator:\n  prots: x\n",
            "log:\n  level: critical\nbroker:\n  url: amqp://me:\(Self.secret)@host:x/\nsimulator:\n  ports: apns=x\n",
        ]
        for section in sections {
            let ended = try Self.run(program, section, isJournal: isJournal)
            let lines = ended.errors.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(ended.status == 1 && lines.count == 2 && lines.last == "", "\(ended.errors)")
            let begin = isJournal ? #/<3>20[^ ]+ error/# : #/20[^ ]+ error/#
            #expect(ended.errors.prefixMatch(of: begin) != nil, "\(ended.errors)")
            #expect(ended.errors.contains(" \(program): Ended by an error error="), "\(ended.errors)")
            #expect(!ended.errors.contains(Self.secret), "\(ended.errors)")
        }
    }

    @Test func aLineOfJSONIsOne() throws {
        let text = "log:\n  format: json\nbroker:\n  url: amqp://me:\(Self.secret)@host:x/\n"
        let ended = try Self.run("pushline-api", text, isJournal: false)
        let line = try JSONDecoder().decode([String: String].self, from: Data(ended.errors.utf8))
        #expect(line["level"] == "error" && line["error"]?.contains("port") == true, "\(ended.errors)")
        #expect(!ended.errors.contains(Self.secret))
    }
}
