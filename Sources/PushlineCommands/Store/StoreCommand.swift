import ArgumentParser
import Foundation
import Installation
import PushModel
import Store

/// `pushline store`.
struct StoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store",
        abstract: "Copy this host's store, put a copy back, or check that all of it adds up.",
        subcommands: [Backup.self, Restore.self, Check.self]
    )

    struct Backup: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write a copy of the store as it is now, while everything runs.",
            discussion: "The file is made for its owner alone: it has devices' addresses and hashes of passwords."
        )

        @OptionGroup var host: HostOptions

        @Argument(help: "The file to write; nothing is overwritten.", completion: .file())
        var file: String

        func run() async throws {
            let store = try await self.host.existingStore()
            try await store.explaining { try await store.backUp(to: self.file, logger: HostOptions.logger) }
            let size = try FileManager.default.attributesOfItem(atPath: self.file)[.size] as? NSNumber
            let bytes = size?.intValue ?? 0
            self.host.show(.members(["file": .string(self.file), "bytes": .integer(bytes)])) {
                ["\(self.file): \((bytes + 999_999) / 1_000_000) MB"]
            }
        }
    }

    struct Restore: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Put a backup where the configuration has the store, with all processes stopped.",
            discussion: "Move the store that is there away first, with its -wal and -shm: nothing is overwritten."
        )

        @OptionGroup var host: HostOptions

        @Argument(help: "The file that pushline store backup wrote.", completion: .file())
        var file: String

        func run() async throws {
            let store = try await self.host.configuredStore()
            guard FileManager.default.isReadableFile(atPath: self.file) else {
                throw CommandFailure.failed("\(self.file) cannot be read")
            }
            do {
                try store.restore(from: self.file)
            } catch let error as StoreError {
                throw CommandFailure.failed(error.message)
            }
            // Opening it brings its tables up to date, where an older release wrote the backup.
            try await self.host.withStore { _ = try await $0.backlog() }
            self.host.show(.members(["store": .string(store.place)])) {
                ["\(store.place): restored; pushline store check looks it over"]
            }
        }
    }

    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check the file, and that the counts of every job add up; 1 where they do not.",
            discussion: "May run while everything runs; it reads the whole file."
        )

        @OptionGroup var host: HostOptions

        func run() async throws {
            let configured = try await self.host.existingStore()
            var faults = try await configured.explaining { try await configured.check(logger: HostOptions.logger) }
            let jobs = try await self.host.withStore { store in
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
                faults.map(Console.safe) + ["\(jobs) jobs: " + (faults.isEmpty ? "all adds up" : "not all adds up")]
            }
            if !faults.isEmpty { throw ExitCode.failure }
        }

        /// Whoever has more has seen enough.
        private static let mostFaults = 1000
    }
}

extension HostOptions {
    /// As ``configuredStore()``, but never one that is not there.
    fileprivate func existingStore() async throws -> ConfiguredStore {
        let store = try await self.configuredStore()
        guard store.exists else { throw CommandFailure.failed("there is no store at \(store.place)") }
        return store
    }
}
