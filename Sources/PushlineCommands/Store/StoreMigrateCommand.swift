import ArgumentParser
import Foundation
import Installation
import PushModel
import Store
import StoreKit

/// `pushline store migrate`.
struct StoreMigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Bring the store's tables to the version of this program, after a backup.",
        discussion: """
            Programs never do this by themselves. A step that expands is taken while the programs of the older Pushline run, and they go \
            on; then restart them one after the other. A step that contracts is refused while an older program has the store open.

            In PostgreSQL the tables belong to a role of their own, which --owner names: the programs, as the role of store.url, may only \
            read and change rows. The first step makes the tables. Nothing is backed up: do it before.
            """
    )

    @OptionGroup var host: HostOptions

    @Flag(help: "Show the steps, and take none.")
    var dryRun = false

    @Flag(help: "Take the steps that expand, and stop before one that contracts.")
    var expandOnly = false

    @Option(
        help: "The backup's file. Default: beside the store, with the version and the time in its name.",
        completion: .file()
    )
    var backup: String?

    @Flag(help: "Make no backup: one of your own is needed to go back.")
    var skipBackup = false

    @Option(help: "PostgreSQL: the role that owns the tables, or is to.")
    var owner: String?

    @Option(help: "PostgreSQL: the file with the owner's password, and nothing else.", completion: .file())
    var passwordFile: String?

    func validate() throws {
        if self.passwordFile != nil, self.owner == nil { throw ValidationError("--password-file goes with --owner") }
        if self.skipBackup, self.backup != nil {
            throw ValidationError("--backup and --skip-backup exclude each other")
        }
    }

    func run() async throws {
        let store = try await self.host.existingStore()
        if self.backup != nil, let others = store.advice.backup { throw CommandFailure.usage("--backup: \(others)") }
        try await store.explaining {
            let (found, steps) = try store.pendingSteps(as: self.role)
            let numbered = zip(steps, (found.number + 1)...).map { (step: $0, number: $1) }
            if self.dryRun { return self.showPlan(found.number, numbered) }
            let wanted = self.expandOnly ? Array(numbered.prefix { $0.step.kind == .expand }) : numbered
            let copy = try self.take(wanted, from: found.number, of: store)
            self.showResult(found.number + wanted.count, wanted.count, backup: copy, store)
            if let next = numbered.dropFirst(wanted.count).first {
                Console.note(
                    "pushline: version \(next.number) is left, for it contracts (\(next.step.summary)): when no program of the older Pushline "
                        + "runs, run pushline store migrate"
                )
            }
        }
    }

    /// Takes the steps, each after a word about it; the backup comes before the first one.
    ///
    /// - Returns: The backup's file; nil if none was made.
    private func take(
        _ steps: [(step: SchemaStep, number: Int)],
        from version: Int,
        of store: any ConfiguredStore
    ) throws -> String? {
        guard let first = steps.first else { return nil }
        // What would be refused is refused before the backup is written.
        try store.checkOlderPrograms(before: first.number)
        var copy: String?
        if !self.skipBackup, store.advice.backup == nil {
            let file = self.backup ?? Self.backupFile(of: store, version: version, at: Date())
            Console.note("pushline: writing a backup to \(file) ...")
            try store.backUp(to: file)
            copy = file
        }
        for (step, number) in steps {
            Console.note("pushline: version \(number): \(step.summary) ...")
            try store.takeStep(to: number, as: self.role, by: .ofHost(.storeMigrate, target: "version \(number)"))
        }
        return copy
    }

    private var role: TableOwner? { self.owner.map { TableOwner(role: $0, passwordFile: self.passwordFile) } }

    private static func backupFile(of store: any ConfiguredStore, version: Int, at time: Date) -> String {
        "\(store.place).version-\(version)-\(time.inFileName)"
    }

    private func showPlan(_ version: Int, _ steps: [(step: SchemaStep, number: Int)]) {
        let values = steps.map { step, number in
            JSONValue.members([
                "version": .integer(number), "kind": .string(step.kind.rawValue), "summary": .string(step.summary),
            ])
        }
        self.host.show(.members(["version": .integer(version), "steps": .array(values)])) {
            steps.isEmpty
                ? ["version \(version): nothing to do"]
                : ["version \(version)"]
                    + steps.map { "version \($1): \($0.kind.rawValue)s: \($0.summary)" }
        }
    }

    private func showResult(_ version: Int, _ count: Int, backup: String?, _ store: any ConfiguredStore) {
        self.host.show(
            .members(["version": .integer(version), "steps": .integer(count), "backup": backup.map { .string($0) }])
        ) {
            [
                count == 0
                    ? "\(store.place): version \(version), nothing to do" : "\(store.place): version \(version) now"
            ]
        }
    }
}
