import ArgumentParser
import Foundation
import Runtime
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

        @Argument(help: "The file to write; nothing is overwritten.")
        var file: String

        func run() async throws {
            let size = try await self.host.withExistingStore { store in
                try await store.backUp(to: self.file)
                return try FileManager.default.attributesOfItem(atPath: self.file)[.size] as? NSNumber
            }
            let bytes = size?.intValue ?? 0
            self.host.show(.members(["file": .text(self.file), "bytes": .integer(bytes)])) {
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

        @Argument(help: "The file that pushline store backup wrote.")
        var file: String

        func run() async throws {
            let configuration = try await PushlineConfiguration(file: self.host.config)
            let path = configuration.store.path
            guard FileManager.default.isReadableFile(atPath: self.file) else {
                throw CommandFailure.failed("\(self.file) cannot be read")
            }
            do {
                try Composition.restoreStore(configuration, from: self.file)
            } catch let error as StoreError {
                throw CommandFailure.failed(error.message)
            }
            // Opening it brings its tables up to date, where an older release wrote the backup.
            try await self.host.withStore { try await $0.check() }
            self.host.show(.members(["store": .text(path)])) {
                ["\(path): restored; pushline store check looks it over"]
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
            let (jobs, faults) = try await self.host.withExistingStore { store in
                var faults = try await store.checkFile().map { "file: \($0)" }
                var (jobs, cursor) = (0, Int64?(0))
                while let from = cursor {
                    let audit = try await store.audit(after: from, limit: 200)
                    jobs += audit.jobs
                    faults += audit.faults.prefix(max(0, Self.mostFaults - faults.count))
                    cursor = audit.next
                }
                return (jobs, faults)
            }
            self.host.show(.members(["jobs": .integer(jobs), "faults": .array(faults.map { .text($0) })])) {
                faults.map(Console.safe) + ["\(jobs) jobs: " + (faults.isEmpty ? "all adds up" : "not all adds up")]
            }
            if !faults.isEmpty { throw ExitCode.failure }
        }

        /// Whoever has more has seen enough.
        private static let mostFaults = 1000
    }
}

extension HostOptions {
    /// As ``withStore(_:)``, but never makes a store.
    fileprivate func withExistingStore<Value>(_ work: (any ResultStore) async throws -> Value) async throws -> Value {
        let path = try await PushlineConfiguration(file: self.config).store.path
        guard FileManager.default.fileExists(atPath: path) else {
            throw CommandFailure.failed("there is no store at \(path)")
        }
        return try await self.withStore(work)
    }
}
