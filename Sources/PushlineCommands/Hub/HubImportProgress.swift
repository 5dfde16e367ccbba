import Foundation
import PushlineClient

/// How far an import of a hub came, and what became of its registrations.
struct HubImportProgress: Codable, Equatable {
    /// The hub, without its key, and the app.
    let from: String
    let to: String
    /// Where the next page begins; nil = at the beginning.
    var continuation: String?
    var read = 0
    private(set) var created = 0
    private(set) var updated = 0
    private(set) var superseded = 0
    private(set) var failed = 0
    /// How many name a device that another one before them names, since the import was last started.
    var repeated = 0
    /// How many had push variables, and were copied without.
    var withoutPushVariables = 0
    private(set) var skipped: [String: Int] = [:]
    private(set) var errors: [Fault] = []

    /// A registration that the server did not take.
    struct Fault: Codable, Equatable {
        let id: String
        let member: String
        let reason: String
    }

    private static let mostFaults = 100

    init(from: String, to: String) {
        self.from = from
        self.to = to
    }

    mutating func skip(_ reason: HubImportSkip, _ count: Int = 1) {
        if count > 0 { self.skipped[reason.key, default: 0] += count }
    }

    /// Adds what the server says of lines.
    mutating func add(_ summary: ImportSummary, _ lines: HubImportLines) {
        self.created += summary.created
        self.updated += summary.updated
        self.superseded += summary.superseded
        self.failed += summary.failed
        for fault in summary.errors.prefix(max(0, Self.mostFaults - self.errors.count))
        where lines.ids.indices.contains(fault.line - 1) {
            self.errors.append(Fault(id: lines.ids[fault.line - 1], member: fault.member, reason: fault.reason))
        }
    }

    // MARK: Words

    /// What is worth a line of its own at the end.
    var notes: [String] {
        var notes = self.errors.map { fault in
            let member = fault.member.isEmpty ? "" : "\(fault.member): "
            return "registration \(Console.safe(fault.id)): \(Console.safe(member + fault.reason))"
        }
        if self.failed > self.errors.count {
            notes.append("and \(self.failed - self.errors.count) more that were refused")
        }
        for (key, count) in self.skipped.sorted(by: { $0.key < $1.key }) {
            guard let reason = HubImportSkip(key: key) else { continue }
            notes.append("left out: \(Plural.of(count, "registration")) \(Console.safe(reason.words))")
        }
        if self.withoutPushVariables > 0 {
            notes.append(
                "left out: the push variables of \(Plural.of(self.withoutPushVariables, "registration")); "
                    + "use a property of the send, or a tag, instead"
            )
        }
        if self.repeated > 0 {
            notes.append(
                "\(Plural.of(self.repeated, "registration")) of a device that had one already: a device keeps the last one's id and tags"
            )
        }
        return notes
    }

    var words: String {
        "\(Plural.of(self.read, "registration")) read: \(self.created) created, \(self.updated) updated, "
            + "\(self.superseded) superseded, \(self.failed) failed, \(self.skipped.values.reduce(0, +)) left out"
    }

    /// The same as JSON.
    var summary: Summary {
        Summary(
            read: self.read,
            created: self.created,
            updated: self.updated,
            superseded: self.superseded,
            failed: self.failed,
            skipped: self.skipped,
            repeated: self.repeated,
            withoutPushVariables: self.withoutPushVariables,
            errors: self.errors
        )
    }

    struct Summary: Encodable {
        let read: Int
        let created: Int
        let updated: Int
        let superseded: Int
        let failed: Int
        let skipped: [String: Int]
        let repeated: Int
        let withoutPushVariables: Int
        let errors: [Fault]
    }
}

extension HubImportProgress {
    /// Where the progress is kept.
    struct File {
        let path: String

        var exists: Bool { FileManager.default.fileExists(atPath: self.path) }

        /// - Returns: nil if there is none: the import begins.
        /// - Throws: ``CommandFailure`` for that of another import, and for a file of another kind.
        func read(from: String, to: String) throws -> HubImportProgress? {
            guard self.exists else { return nil }
            let bytes = try InputFile.open(self.path, option: "--progress-file").readToEnd() ?? Data()
            guard let progress = try? JSONDecoder().decode(HubImportProgress.self, from: bytes) else {
                throw CommandFailure.failed(
                    "\(self.path) is not the progress of an import; name another file with --progress-file"
                )
            }
            guard progress.from == from, progress.to == to else {
                throw CommandFailure.failed(
                    "\(self.path) has the progress of another import, from \(Console.safe(progress.from)) to "
                        + "\(Console.safe(progress.to)); finish that one, delete the file, or name another with --progress-file"
                )
            }
            return progress
        }

        func write(_ progress: HubImportProgress) throws {
            do { try JSONEncoder().encode(progress).write(to: URL(filePath: self.path), options: .atomic) } catch {
                throw HubImport.Stopped(
                    words: "the progress cannot be written to \(self.path): \(error.localizedDescription)"
                )
            }
        }

        func remove() throws {
            guard self.exists else { return }
            do { try FileManager.default.removeItem(atPath: self.path) } catch {
                throw CommandFailure.failed("all is copied, but \(self.path) cannot be removed; delete it")
            }
        }
    }
}
