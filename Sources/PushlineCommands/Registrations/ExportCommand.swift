import ArgumentParser
import Foundation
import PushModel
import PushlineClient

extension RegistrationsCommand {
    /// `pushline registrations export`.
    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write live registrations as NDJSON, the format that import reads.",
            discussion:
                "The file holds device handles: with the app's credentials, anyone can send to them."
        )

        @OptionGroup var server: ServerOptions

        @Option(
            help: "Write to this new file, readable by its owner only. Default: standard output.",
            completion: .file()
        )
        var output: String?

        @Option(help: "Only those of this user.")
        var user: String?

        @Option(help: "Only those with this tag.")
        var tag: String?

        @Option(help: "Those of this push service: \(PushService.list()).", completion: KnownValues.services)
        var service: String?

        func validate() throws {
            try KnownValues.check(service: self.service)
        }

        func run() async throws {
            let client = try self.server.client()
            let handle = try self.output.map(Self.create)
            // Lines on a terminal are progress enough.
            var progress = self.output == nil && Console.isTerminal ? nil : ProgressLine()
            var lines = 0
            do {
                try await client.exportRegistrations(
                    user: self.user,
                    tag: self.tag,
                    service: self.service.map(PushNotification.Service.init(rawValue:))
                ) { piece in
                    if let handle {
                        try handle.write(contentsOf: piece.lines)
                    } else {
                        Console.write(piece.lines, to: .standardOutput)
                    }
                    lines += piece.lines.count { $0 == UInt8(ascii: "\n") }
                    progress?.show(lines, share: nil)
                }
                progress?.end()
            } catch {
                progress?.end()
                if lines > 0 { Console.note("the export is not whole: it has \(Plural.of(lines, "registration"))") }
                // An empty file would make the next attempt fail.
                if lines == 0, let output = self.output { try FileManager.default.removeItem(atPath: output) }
                throw error
            }
            if let output = self.output {
                try self.server.show(["registrations": lines]) { ["\(Plural.of(lines, "registration")) in \(output)"] }
            }
        }

        private static func create(_ path: String) throws -> FileHandle {
            let descriptor = unsafe Foundation.open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else {
                throw CommandFailure.failed("\(path) cannot be made: \(unsafe String(cString: strerror(errno)))")
            }
            return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        }
    }
}
