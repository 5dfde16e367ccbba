import Foundation
import PushlineClient

import struct PushModel.Tag

/// A job in words, for people.
struct JobLines {
    let job: Job

    /// The progress in one line.
    var progress: String {
        var words = [self.job.dryRun == true ? "\(self.job.state) (dry run)" : self.job.state]
        if let totals = self.job.totals, totals.targets > 0 {
            words.append(self.share(totals))
            if totals.accepted > 0 { words.append("\(totals.accepted) accepted") }
            let failed = totals.failed.values.reduce(0, &+)
            if failed > 0 { words.append("\(failed) failed (\(Self.failures(totals)))") }
            if totals.expired > 0 { words.append("\(totals.expired) expired") }
            if totals.cancelled > 0 { words.append("\(totals.cancelled) cancelled") }
        }
        if !self.job.isFinal, let due = self.job.due {
            if self.job.state == "retrying" { words.append("next try \(Self.moment(due))") }
            if self.job.state == "scheduled" { words.append("starts \(Self.moment(due))") }
        }
        if let missed = self.missedStart { words.append("was to start \(missed)") }
        if !self.job.isFinal { words += self.rateWords }
        if let reason = self.job.reason { words.append(reason) }
        if self.job.state == "completed", self.job.totals?.targets == 0 {
            words.append("\(self.nobody); nothing was sent")
        }
        return Console.safe(words.joined(separator: ", "))
    }

    /// Its state, and when it starts if that is later.
    var state: String {
        let suffix = self.job.dryRun == true ? " (dry run)" : ""
        guard self.job.state == "scheduled", let due = self.job.due else { return self.job.state + suffix }
        return "scheduled for \(Self.moment(due))\(suffix)"
    }

    /// When a job was to start that was stopped before.
    private var missedStart: String? {
        self.job.isFinal && self.job.started == nil ? self.job.at.map(Self.moment) : nil
    }

    /// The reason that there is no target, by the kind of audience.
    private var nobody: String {
        let users = (self.job.to ?? []).compactMap { (try? Tag(kept: $0))?.owner?.text }
        guard users.isEmpty || users.count < self.job.to?.count ?? 0 else {
            return users.count == 1
                ? "user \"\(users[0])\" has no matching device" : "none of the users has a matching device"
        }
        if let list = self.job.recipients {
            return list.kind == "all" ? "the app has no device" : "none of the devices is there"
        }
        return self.job.expression == nil ? "no device has such a tag" : "no device fits the expression"
    }

    /// A bar for a terminal, while devices are being sent to: how many of how many, how fast, and how long still.
    var bar: String? {
        guard self.job.state == "running", let share = self.job.progress.map({ min(max(0, $0), 1) }),
            let totals = self.job.totals,
            let whole = self.job.estimate, whole > 0
        else { return nil }
        let width = 24
        let filled = min(width, Int(share * Double(width)))
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: width - filled)
        var words = [
            "[\(bar)] \(Int(share * 100)) %, \(totals.targets &- totals.open) of \(self.about)\(Self.devices(whole))"
        ]
        words += self.rateWords
        let failed = totals.failed.values.reduce(0, &+)
        if failed > 0 { words.append("\(failed) failed") }
        return words.joined(separator: ", ")
    }

    /// The devices done, and their total if known: a running job counts a target with its outcome.
    private func share(_ totals: Job.Counts) -> String {
        let done = totals.targets &- totals.open
        if let whole = self.job.estimate { return "\(done) of \(self.about)\(Self.devices(whole))" }
        let isStopping = self.job.state == "cancelling" || self.job.state == "expiring"
        // A target is counted with its outcome: where none is open, more may come until the end.
        let isWhole =
            self.job.fannedOut == nil && (self.job.isFinal || (!isStopping && totals.open > 0))
        return isWhole ? "\(done) of \(Self.devices(totals.targets))" : "\(Self.devices(done)) done"
    }

    /// The devices that a stopped send reached, and their total: its counts include only devices in batches.
    private var reached: String? {
        guard self.job.isFinal, let whole = self.job.estimate, let totals = self.job.totals else { return nil }
        let done = totals.accepted &+ totals.failed.values.reduce(0, &+)
        return "\(done) of \(self.about)\(Self.devices(whole))"
    }

    /// Before all is in batches, the whole is a guess.
    private var about: String { self.job.fannedOut == self.job.estimate ? "" : "about " }

    /// How fast, and how long still, where known.
    private var rateWords: [String] {
        [
            self.job.rate.map { "\(Int(min(max(0, $0), 1e15).rounded())) a second" },
            self.job.secondsLeft.map { "\(Self.duration($0)) left" },
        ].compactMap { $0 }
    }

    /// All that is known.
    var lines: [String] {
        let job = self.job
        var facts = Table(["job", job.id])
        facts.add(["kind", job.kind])
        facts.add(["state", job.state])
        func add(_ name: String, _ value: String?) { if let value { facts.add([name, value]) } }
        add("hub", job.hub?.note.map(Console.safe))
        add("reason", job.reason)
        add("app", job.app)
        add("asked by", job.user.map { "user \($0)" } ?? job.key.map { "key \($0)" })
        add("dry run", job.dryRun == true ? "yes: no device gets it" : nil)
        add("label", job.label.map(Console.safe))
        add("to", self.audience)
        add("services", job.services?.map(\.rawValue).joined(separator: ", "))
        add("priority", job.priority)
        add("accepted", Self.moment(job.accepted))
        add("started", job.started.map(Self.moment))
        if job.state == "scheduled" {
            add("starts", job.due.map(Self.moment))
        } else {
            add(self.missedStart == nil ? "asked for" : "was to start", job.at.map(Self.moment))
            if !job.isFinal { add("next try", job.due.map(Self.moment)) }
        }
        add("getting on", self.bar)
        add("reached", self.reached)
        add("finished", job.finished.map(Self.moment))
        if !job.isFinal { add("expires", Self.moment(job.expires)) }
        if let result = job.result {
            add("result", [result.status, result.registration, result.reason].compactMap { $0 }.joined(separator: " "))
        }
        return facts.lines + self.countLines + self.callLines
    }

    /// The audience, as a tag expression.
    var target: String? { self.job.to?.joined(separator: " || ") ?? self.job.expression ?? self.recipients }

    /// A list, in words.
    private var recipients: String? {
        guard let list = self.job.recipients else { return nil }
        guard let count = list.count, let given = list.given else { return list.kind }
        // The kinds are plurals.
        let kind = given == 1 && list.kind.hasSuffix("s") ? String(list.kind.dropLast()) : list.kind
        return count == given ? "\(count) \(kind)" : "\(count) of \(given) \(kind)"
    }

    /// Of many tags a few and their number.
    private var audience: String? {
        guard let tags = self.job.to, let count = self.job.toCount else {
            return self.target
        }
        let shown = tags.prefix(5)
        return shown.joined(separator: " || ") + " || \(count - shown.count) others"
    }

    private var countLines: [String] {
        guard let counts = self.job.counts, !counts.isEmpty else { return [] }
        var table = Table(
            ["service", "targets", "accepted", "failed", "expired", "cancelled", "open", "why failed"],
            numeric: Set(1...6)
        )
        for (service, count) in counts.sorted(by: { $0.key < $1.key }) {
            let numbers = [
                count.targets, count.accepted, count.failed.values.reduce(0, &+), count.expired, count.cancelled,
                count.open,
            ]
            table.add([service] + numbers.map(String.init) + [Self.failures(count)])
        }
        return [""] + table.lines
    }

    private var callLines: [String] {
        guard let hub = self.job.hub, !hub.calls.isEmpty else { return [] }
        var table = Table(["call of the hub", "state", "outcome", "devices", "notification"])
        for call in hub.calls {
            let devices = (call.devices ?? [:]).sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
            table.add([
                [call.service.rawValue, call.place.map(String.init)].compactMap { $0 }.joined(separator: " "),
                call.state,
                Self.outcome(of: call), devices.joined(separator: ", "), call.notification ?? "",
            ])
        }
        return [""] + table.lines + (hub.more == true ? ["and others"] : [])
    }

    /// The hub's word for the outcome of a call, or why there is none.
    private static func outcome(of call: Job.Hub.Call) -> String {
        switch (call.outcome, call.telemetry) {
        case (nil, "pending"): "not known yet"
        case (nil, "not-offered"): "not known: the hub's tier has no telemetry"
        case (nil, "ended"): "not known, and no longer asked"
        case (nil, "together"): "see the first handle of its call"
        case (let outcome?, "pending"): "\(outcome), so far"
        case (let outcome?, "ended"): "\(outcome), and no longer asked"
        case (let outcome, _): outcome ?? ""
        }
    }

    /// Seconds are enough for people.
    static func moment(_ date: Date) -> String {
        date.iso8601.prefix(19).replacing("T", with: " ") + "Z"
    }

    private static func duration(_ seconds: Int) -> String {
        switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7200: "\(seconds / 60) min"
        default: "\(seconds / 3600) h"
        }
    }

    private static func failures(_ counts: Job.Counts) -> String {
        counts.failed.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    }

    private static func devices(_ count: Int) -> String { Plural.of(count, "device") }
}
