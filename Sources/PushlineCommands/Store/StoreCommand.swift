import ArgumentParser
import Foundation
import Installation
import PushModel
import Store
import StoreKit

/// `pushline store`.
struct StoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store",
        abstract: "Back up, restore, check, migrate or move this host's store.",
        subcommands: [
            Backup.self, StoreRestoreCommand.self, Check.self, StoreMigrateCommand.self, StoreMoveCommand.self,
        ]
    )

    struct Backup: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write a consistent backup of the store's file while everything runs, and check it.",
            discussion: "Only the owner can read the file: it holds device handles and password hashes."
        )

        @OptionGroup var host: HostOptions

        @Option(help: "Write into a folder, a file named after the time, and keep so many of the latest there.")
        var keep: Int?

        @Argument(
            help: "The file to write, or with --keep N the folder for it; nothing is overwritten.",
            completion: .file()
        )
        var file: String

        func validate() throws {
            if let keep = self.keep, keep < 1 { throw ValidationError("--keep: at least 1") }
        }

        func run() async throws {
            let store = try await self.host.existingStore()
            let folder = self.keep.map { BackupFolder(path: self.file, most: $0) }
            guard folder != nil || !FileManager.default.isFolder(self.file) else {
                throw CommandFailure.failed(
                    "\(self.file) is a folder: name a file, or give --keep N to have one named after the time in it"
                )
            }
            let file = folder?.newFile(at: Date()) ?? self.file
            try await store.explaining { try store.backUp(to: file) }
            let removed = try folder?.removeOld() ?? []
            let size = try FileManager.default.attributesOfItem(atPath: file)[.size] as? NSNumber
            let bytes = size?.intValue ?? 0
            let members: JSONValue = .members([
                "file": .string(file), "bytes": .integer(bytes), "removed": .array(removed.map { .string($0) }),
            ])
            self.host.show(members) {
                ["\(file): \((bytes + 999_999) / 1_000_000) MB"] + removed.map { "\($0): removed" }
            }
        }
    }

    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check the store's file and the counts of every job; exit status 1 if something is wrong.",
            discussion:
                "Reads the whole file. Safe while everything runs. PostgreSQL checks its own files; of it the counts are checked."
        )

        @OptionGroup var host: HostOptions

        func run() async throws {
            let configured = try await self.host.existingStore()
            var faults = try await configured.explaining { try await configured.checkFiles(logger: HostOptions.logger) }
            let store = try await configured.open(logger: HostOptions.logger)
            if let others = configured.advice.files {
                Console.note("pushline: the counts alone are checked: \(others)")
            }
            let jobs = try await configured.explaining {
                var (jobs, cursor) = (0, Int64?(0))
                while let from = cursor {
                    let audit = try await store.audit(after: from, limit: 200)
                    jobs += audit.jobs
                    faults += audit.faults.prefix(max(0, Self.mostFaults - faults.count))
                    cursor = audit.next
                }
                return jobs
            }
            self.host.show(.members(["jobs": .integer(jobs), "faults": .array(faults.map { .string($0) })])) {
                faults.map(Console.safe) + [
                    "\(Plural.of(jobs, "job")): " + (faults.isEmpty ? "all adds up" : "not all adds up")
                ]
            }
            if !faults.isEmpty { throw ExitCode.failure }
        }

        /// The most faults to show.
        private static let mostFaults = 1000
    }
}
