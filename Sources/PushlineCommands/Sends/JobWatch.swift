import ArgumentParser
import Foundation
import PushlineClient

/// Shows a job until it is final.
struct JobWatch {
    let client: PushlineClient
    let options: ServerOptions
    /// The longest to wait.
    let time: Duration

    /// Shows one live line on a terminal, otherwise a line for each change; with JSON only the last state.
    ///
    /// - Throws: `ExitCode` 1 when the job did not complete, or not in time.
    func run(_ id: String) async throws {
        let isLive = Console.isTerminal && self.options.format == .text
        let isSilent = self.options.format == .json
        // On its own line: a live line longer than the terminal could not be overwritten.
        if isLive { Console.print(id) }
        var shown: String?
        let last = try await self.client.waitForOutcome(of: id, within: self.time) { job in
            guard !isSilent else { return }
            let text = JobLines(job: job)
            // The bar changes with every poll, so only a terminal gets it.
            let progress = isLive ? text.bar ?? text.progress : text.progress
            // Not everything that changes in a job is in its line.
            guard progress != shown else { return }
            shown = progress
            if isLive { Console.rewrite(progress) } else { Console.print("\(job.id)  \(progress)") }
        }
        if isSilent { Console.print(try JSONOutput.encoded(last)) } else if isLive { Console.print("") }
        guard last.isFinal else {
            throw CommandFailure.failed(
                "the job is \(Console.safe(last.state)) after \(self.time.components.seconds) s"
                    + (last.reason.map { ", still \(Console.safe($0))" } ?? "")
                    + "; follow it with pushline job \(id) --watch"
            )
        }
        guard last.state == "completed" else { throw ExitCode.failure }
    }
}
