import ArgumentParser
import Foundation
import Installation
import PushModel
import Store
import StoreKit

/// `pushline store restore`.
struct StoreRestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Restore the store from a backup. Stop all processes first.",
        discussion: """
            Run it as the user that the processes run as. It overwrites nothing: first move the existing store away, with its -wal and -shm \
            files. It says how many sends were under way when the backup was made: their devices may get a push once more. Empty the broker \
            before you start the processes: its messages may name rows that mean something else now.
            """
    )

    @OptionGroup var host: HostOptions

    @Flag(
        help: """
            Cancel the sends that were under way. Scheduled sends whose time has not come are kept, and so are changes of registrations. Not \
            for a backup of an older version.
            """
    )
    var stopUnfinished = false

    @Argument(help: "The file that pushline store backup wrote.", completion: .file())
    var file: String

    func run() async throws {
        let store = try await self.host.configuredStore()
        guard FileManager.default.isReadableFile(atPath: self.file) else {
            throw CommandFailure.failed("\(self.file) cannot be read")
        }
        let unfinished: UnfinishedSends?
        let behind: Int?
        do {
            unfinished = try store.restore(
                from: self.file,
                stoppingUnfinished: self.stopUnfinished,
                by: .ofHost(.storeRestore, target: self.stopUnfinished ? "unfinished sends stopped" : nil)
            )
            let pending = try store.pendingSteps(as: nil)
            behind = pending.steps.isEmpty ? nil : pending.found.number
        } catch let error as StoreError {
            throw CommandFailure.failed(error.message)
        }
        if behind == nil {
            _ = try await store.explaining { try await store.open(logger: HostOptions.logger).state() }
        }
        let members: JSONValue = .members([
            "store": .string(store.place), "behind": .bool(behind != nil),
            "unfinished": unfinished.map { $0.json(areStopped: self.stopUnfinished) },
        ])
        self.host.show(members) {
            [
                behind.map {
                    "\(store.place): restored with tables of version \($0): run pushline store migrate next"
                }
                    ?? "\(store.place): restored: run pushline store check next"
            ] + [unfinished?.line(areStopped: self.stopUnfinished)].compactMap { $0 }
        }
    }
}

extension UnfinishedSends {
    /// What it means for their devices.
    fileprivate func line(areStopped: Bool) -> String {
        let scheduled = self.scheduled > 0 ? "; \(Plural.of(self.scheduled, "scheduled send")) kept" : ""
        guard self.sends > 0 else { return "no send was under way: no device gets a push once more\(scheduled)" }
        let isOne = self.sends == 1
        let sends = "\(Plural.of(self.sends, "send")) \(isOne ? "was" : "were") under way"
        let others = self.lookingUp > 0 ? " and those that \(Plural.of(self.lookingUp, "send")) had yet to look up" : ""
        let devices = Plural.of(self.devices, "device") + others
        return areStopped
            ? "\(sends) to \(devices), and \(isOne ? "is" : "are") cancelled\(scheduled)"
            : "\(sends): \(devices) may get a push once more (--stop-unfinished cancels them instead)\(scheduled)"
    }

    fileprivate func json(areStopped: Bool) -> JSONValue {
        .members([
            "sends": .integer(self.sends), "devices": .integer(self.devices), "lookingUp": .integer(self.lookingUp),
            "scheduled": .integer(self.scheduled), "stopped": .bool(areStopped),
        ])
    }
}
