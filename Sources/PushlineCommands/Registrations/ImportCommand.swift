import ArgumentParser
import Foundation
import PushlineClient

extension RegistrationsCommand {
    /// `pushline registrations import`.
    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create and update registrations from a file of NDJSON.",
            discussion: """
                A line is an object with service and handle and, where wanted, id, user, tags and expires: what export writes. A bad line \
                is reported by its number and stops nothing. Repeating an import does no harm. It is fastest where many lines \
                without an id come in the order of their users.
                """
        )

        @OptionGroup var server: ServerOptions

        @Argument(help: "The file; - = standard input.", completion: .file())
        var file: String

        @Option(help: "Start at this line, if earlier ones are already imported.")
        var fromLine = 1

        func validate() throws {
            guard self.fromLine > 0 else { throw ValidationError("--from-line must be at least 1.") }
        }

        func run() async throws {
            let client = try self.server.client()
            let (handle, size) = try Self.open(self.file)
            var progress = ProgressLine()
            var reading = ImportReading(fromLine: self.fromLine, size: size)
            let stop = ImportStop(lines: self.fromLine - 1)
            let signals = stop.sources()
            defer { signals.forEach { $0.cancel() } }
            let summary: ImportSummary
            do {
                summary = try await client.importRegistrations(
                    skipping: self.fromLine - 1,
                    from: {
                        guard let text = try handle.read(upToCount: 256 * 1024) else { return nil }
                        reading.add(text)
                        // The rate is that of the lines that are sent.
                        if reading.isSkipping { progress = ProgressLine() }
                        return text
                    },
                    progress: { done in
                        stop.update(lines: done.lines)
                        progress.show(done.lines - (self.fromLine - 1), share: reading.share)
                    }
                )
                progress.end()
            } catch let interrupted as ImportInterrupted {
                progress.end()
                // If nothing was done, the refusal is enough.
                guard interrupted.done.lines >= self.fromLine else { throw interrupted.cause }
                try self.show(interrupted.done)
                throw CommandFailure.failed(
                    "\(Console.safe(interrupted.cause.message))\(Advice.after(interrupted.cause)); go on with --from-line "
                        + "\(interrupted.done.lines + 1)"
                )
            }
            try reading.count.check(fromLine: self.fromLine, of: self.file)
            try self.show(summary)
            if summary.failed > 0 { throw ExitCode.failure }
        }

        private func show(_ summary: ImportSummary) throws {
            for fault in summary.errors {
                let member = fault.member.isEmpty ? "" : "\(fault.member): "
                Console.note("line \(fault.line): \(Console.safe(member + fault.reason))")
            }
            if summary.failed > summary.errors.count {
                Console.note("and \(summary.failed - summary.errors.count) more bad lines")
            }
            let outcome = ImportOutcome(summary, fromLine: self.fromLine)
            try self.server.show(outcome) { [outcome.words] }
        }

        /// - Returns: The file and its size, if it has one.
        private static func open(_ path: String) throws -> (FileHandle, Int?) {
            guard path != "-" else { return (.standardInput, nil) }
            let handle = try InputFile.open(path)
            let size = (try FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber)?.intValue
            return (handle, size.flatMap { $0 > 0 ? $0 : nil })
        }
    }
}
