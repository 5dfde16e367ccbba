import ArgumentParser
import Foundation
import PushlineClient

/// `pushline top`.
struct TopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Show what is under way in an app: sends, queues, processes and dead letters, every two seconds.",
        discussion: "At a terminal it goes on until it is ended (Ctrl-C); else, and with --once, it shows one picture."
    )

    @OptionGroup var server: ServerOptions

    @Flag(help: "Show one picture, and end.")
    var once = false

    private static let pause = Duration.seconds(2)

    func run() async throws {
        let client = try self.server.client()
        guard Console.isTerminal, !self.once, self.server.format == .text else {
            let overview = try await client.overview()
            return try self.server.show(overview) { OverviewLines(overview: overview).lines }
        }
        while true {
            let lines = OverviewLines(overview: try await client.overview()).lines
            // From the top left on, each line and what is below it cleared.
            let text = lines.map { "\($0)\u{1B}[K\n" }.joined()
            Console.write("\u{1B}[H\(text)\u{1B}[J", to: .standardOutput)
            try await Task.sleep(for: Self.pause)
        }
    }
}

/// An overview as lines.
struct OverviewLines {
    let overview: Overview

    var lines: [String] {
        let overview = self.overview
        let rates = overview.rate.sorted { $0.key < $1.key }.map { "\($0.key) \(Int($0.value.rounded())) a second" }
        var lines = [
            "\(JobLines.moment(overview.at))  Pushline \(overview.version)  "
                + (rates.isEmpty ? "nothing is being sent" : rates.joined(separator: ", "))
        ]
        if let fault = overview.brokerFault { lines.append("broker: \(fault)") }
        let dead = overview.dead
        if dead.count > 0 {
            lines.append(
                "\(dead.isComplete ? "" : "at least ")\(Plural.of(dead.count, "dead letter")): pushline dead groups"
            )
        }
        lines += self.attention
        lines.append("")
        lines += self.sends + [""] + self.queues + [""] + self.processes
        return lines.map(Console.safe)
    }

    /// What processes say that somebody should see to, each once.
    private var attention: [String] {
        let processes = self.overview.processes.items
        let breakers = processes.flatMap(\.breakers).map { "waits: \($0.reason)" }
        let ends = processes.flatMap(\.credentials).map {
            "credential: \($0.setting) \($0.end < self.overview.at ? "ended" : "ends") on \(JobLines.moment($0.end))"
        }
        let refusals = processes.flatMap(\.refusals).map { refusal in
            let name = refusal.credential.map { " (credential \($0))" } ?? ""
            return "refused: \(refusal.service)\(name) since \(JobLines.moment(refusal.since)): \(refusal.reason)"
        }
        return Set(breakers).sorted() + Set(refusals).sorted() + Set(ends).sorted() + self.held + self.ended
    }

    /// Work that has been tried again for a minute or longer.
    private var held: [String] {
        self.overview.queues.compactMap { queue in
            guard let delayed = queue.delayed, delayed.seconds >= 60 else { return nil }
            return "held up: \(queue.name) for \(delayed.seconds) s: \(delayed.reason)"
        }
    }

    /// Sends of the last day that did not get to their devices.
    private var ended: [String] {
        let ended = self.overview.ended
        return [("expired", ended.expired), ("abandoned", ended.abandoned)].filter { $0.1 > 0 }.map { state, count in
            "\(Plural.of(count, "send")) \(state) since \(JobLines.moment(ended.since)): pushline jobs --state \(state)"
        }
    }

    private var processes: [String] {
        guard !self.overview.processes.items.isEmpty else { return ["No process is known."] }
        var table = Table(["process", "state", "host", "pid", "in work", "memory", "version"], numeric: [3, 4, 5])
        for process in self.overview.processes.items {
            table.add([
                process.role, Self.state(process), process.host, String(process.pid), process.inHand.map(String.init),
                process.memory.map { "\($0 / 1_000_000) MB" }, process.version,
            ])
        }
        return table.lines
            + (self.overview.processes.isComplete ? [] : ["There may be more: not all can be heard yet."])
    }

    private static func state(_ process: ServerProcess) -> String {
        switch process.state {
        case "gone": "gone: silent for \(process.silentSeconds) s"
        case "unknown": "not known"
        default: process.state
        }
    }

    private var sends: [String] {
        guard !self.overview.sends.items.isEmpty else { return ["No send is under way."] }
        var table = Table(["job", "asked by", "label", "how it goes"], narrow: [1, 2])
        for job in self.overview.sends.items {
            let text = JobLines(job: job)
            table.add([job.id, job.user ?? job.key, job.label, text.bar ?? text.progress])
        }
        return table.lines + (self.overview.sends.isComplete ? [] : ["and more: pushline jobs"])
    }

    private var queues: [String] {
        var table = Table(["queue", "state", "waiting", "open", "deferred", "oldest"], numeric: [2, 3, 4, 5])
        for queue in self.overview.queues {
            table.add([
                queue.name, QueueText.state(queue), String(queue.waiting), queue.open.map(String.init),
                queue.deferred.map(String.init), queue.oldestSeconds.map { "\($0) s" },
            ])
        }
        return table.lines
    }
}
