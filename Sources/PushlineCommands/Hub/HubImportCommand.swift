import ArgumentParser
import Foundation
import HubAzure
import HubWire
import NIOPosix
import OutgoingHTTP
import PushModel
import PushlineClient

/// `pushline hub import`.
struct HubImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Copy the registrations and installations of an Azure Notification Hub into the app.",
        discussion: """
            Reads the hub page by page by a rule with the right Manage, and gives what it reads to the server as registrations import \
            does. Ids, tags, users and templates stay. An interrupted import goes on where it stopped when the same command is given again; \
            repeating one does no harm. What Pushline cannot deliver is left out and counted at the end.
            """
    )

    @OptionGroup var server: ServerOptions

    @Option(
        help: ArgumentHelp("The file with the hub's connection string.", valueName: "file"),
        completion: .file()
    )
    var connectionStringFile: String

    @Option(help: "The hub's name.")
    var name: String

    @Option(
        help: ArgumentHelp(
            "Trust the authorities in this PEM file for the hub, in place of this machine's.",
            valueName: "file"
        ),
        completion: .file()
    )
    var hubCaFile: String?

    @Flag(help: "Leave out devices that the app already has, so that their newer data stays.")
    var newOnly = false

    @Option(
        help: ArgumentHelp(
            "The file with the progress. Default: pushline-hub-import-NAME.json here.",
            valueName: "file"
        ),
        completion: .file()
    )
    var progressFile: String?

    func validate() throws {
        guard !self.name.isEmpty else { throw ValidationError("--name is the hub's name.") }
    }

    func run() async throws {
        let client = try self.server.client()
        let connection = try self.connection()
        let file = HubImportProgress.File(path: self.progressFile ?? Self.defaultFile(self.name))
        let from = "\(connection.authority)/\(self.name)"
        let begun = try file.read(from: from, to: client.target)
        if let begun {
            Console.note("going on after \(Plural.of(begun.read, "registration")); \(file.path) has the progress")
        }
        var configuration = AzureHubConfiguration()
        configuration.trustFile = self.hubCaFile
        if let path = self.hubCaFile { _ = try InputFile.open(path, option: "--hub-ca-file") }
        let http = AzureHub.client(on: MultiThreadedEventLoopGroup.singleton, configuration: configuration)
        let hub = AzureHub(
            connection,
            name: self.name,
            client: http,
            configuration: configuration,
            logger: HostOptions.logger
        )
        var copy = HubImport(
            hub: { continuation throws(AzureHubError) in try await hub.registrations(continuation: continuation) },
            client: client,
            progress: begun ?? HubImportProgress(from: from, to: client.target),
            file: file
        )
        let outcome: Result<HubImportProgress, any Error>
        do {
            if self.newOnly { try await copy.learnKnown() }
            outcome = .success(try await copy.run())
        } catch { outcome = .failure(error) }
        await http.close()
        try self.show(outcome, file)
    }

    private func show(_ outcome: Result<HubImportProgress, any Error>, _ file: HubImportProgress.File) throws {
        switch outcome {
        case .success(let done):
            for line in done.notes { Console.note(line) }
            try self.server.show(done.summary) { [done.words] }
            if done.failed > 0 { throw ExitCode.failure }
        case .failure(let error as HubImport.Stopped):
            let kept = file.exists ? "; give the same command again to go on" : ""
            throw CommandFailure.failed("\(error.words)\(kept)")
        case .failure(let error): throw error
        }
    }

    private func connection() throws -> ConnectionString {
        let option = "--connection-string-file"
        let bytes = try InputFile.open(self.connectionStringFile, option: option).read(upToCount: 16_384) ?? Data()
        do { return try ConnectionString(String(decoding: bytes, as: UTF8.self)) } catch {
            throw CommandFailure.usage("\(option): \(self.connectionStringFile): \(error)")
        }
    }

    /// A name without what a path gives a meaning to.
    private static func defaultFile(_ name: String) -> String {
        let plain = name.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") ? $0 : "_" }
        return "pushline-hub-import-\(String(plain)).json"
    }
}

extension PushlineClient {
    /// Where an import goes to, to tell one from another.
    fileprivate var target: String { "\(self.url.absoluteString) \(self.app ?? AppID.default.name)" }
}
