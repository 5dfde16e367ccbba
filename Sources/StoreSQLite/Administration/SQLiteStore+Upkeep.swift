import Dispatch
import Foundation
import GRDB
import PushModel
import Store
import StoreKit
import StoreSQL

extension SQLiteStore {
    /// Writes a consistent copy of a whole store while it is in use, whatever version its tables have, and reads it once; blocks the thread.
    ///
    /// - Parameters:
    ///   - source: The store's file.
    ///   - path: A new file; it is created readable for its owner only, and appears when it is complete.
    /// - Throws: ``StoreError``: a conflict if the file exists.
    package static func backUp(_ source: String, to path: String) throws {
        let copy = try NewFile(path)
        do {
            try Self.connection(source).inDatabase { database in
                try database.execute(sql: "VACUUM INTO ?", arguments: [copy.partial])
            }
            guard try Self.isWhole(copy.partial) else {
                throw StoreError(.corrupt, "the copy of \(source) is damaged: what says pushline store check?")
            }
        } catch let error as DatabaseError {
            throw Self.fault(error, copying: source, to: path)
        }
        try copy.finish()
        try Self.noteBackup(of: source)
    }

    static func isWhole(_ file: String) throws -> Bool {
        try Self.connection(file).inDatabase { try String.fetchAll($0, sql: "PRAGMA quick_check") } == ["ok"]
    }

    /// The last backup's time is that of an empty file beside the store: a store that was restored has none.
    private static func noteBackup(of source: String) throws(StoreError) {
        let note = Self.backupNote(of: source)
        guard FileManager.default.createFile(atPath: note, contents: nil, attributes: [.posixPermissions: 0o600]) else {
            throw StoreError(.unavailable, "\(note) cannot be written, which says when the last backup was made")
        }
    }

    static func backupNote(of source: String) -> String { source + ".backup" }

    /// The error of a failed copy, with the file and the remedy.
    static func fault(_ error: DatabaseError, copying source: String, to copy: String) -> StoreError {
        let fault = StoreError(error)
        switch error.resultCode {
        case .SQLITE_FULL, .SQLITE_IOERR:
            return StoreError(
                fault.code,
                "\(copy) cannot be written (SQLite answers \(error.extendedResultCode.rawValue)): is there room for "
                    + "as much as \(source) has?"
            )
        default: return StoreError(fault.code, "\(source) cannot be copied: \(fault.message)")
        }
    }

    /// Checks the whole file.
    ///
    /// - Returns: A line for each fault, at most a hundred; empty = none.
    /// - Throws: ``StoreError``.
    package func checkFile() async throws -> [String] {
        let (source, mask) = (self.configuration.path, self.configuration.digestMask)
        return try await Self.blocking {
            try Self.connection(source).inDatabase { connection in
                let database = Database(connection)
                var faults = try database.values("PRAGMA integrity_check").filter { $0 != "ok" }
                try database.read("PRAGMA foreign_key_check") { row in
                    let (table, parent) = (row["table"] as String, row["parent"] as String)
                    faults.append("a row of \(table) names one of \(parent) that is not there")
                    return faults.count < Self.mostFaults
                }
                let digest = try database.handleDigest(mask: mask)
                for (rows, words) in Self.strays {
                    let found = try database.answer("SELECT count(*) AS strays FROM \(rows)").rows
                    if let count: Int = try found.first?["strays"], count > 0 { faults.append("\(count) \(words)") }
                }
                return try faults + TagList.faults(in: database) + HandleIndex.faults(in: database, digest)
            }
        }
    }

    /// Rows that name others which must be there.
    private static let strays: [(rows: SQLStatement, words: String)] = [
        ("recipient WHERE job NOT IN (SELECT sequence FROM job)", "devices of lists are of no job"),
        ("hub_call WHERE job NOT IN (SELECT sequence FROM job)", "calls of a hub are of no job"),
        (
            "registration WHERE credential IS NOT NULL AND credential NOT IN (SELECT number FROM credential)",
            "rows of registration have a credential without a name"
        ),
        (
            "recipient WHERE credential IS NOT NULL AND credential NOT IN (SELECT number FROM credential)",
            "rows of recipient have a credential without a name"
        ),
    ]

    /// The most faults to report; SQLite's own check has the same limit.
    static let mostFaults = 100

    /// A separate connection for one long operation, so that short ones need not wait.
    static func connection(_ path: String) throws -> DatabaseQueue {
        var settings = GRDB.Configuration()
        settings.busyMode = .timeout(5)
        settings.prepareDatabase { try $0.execute(sql: "PRAGMA wal_autocheckpoint = 0") }
        return try DatabaseQueue(path: path, configuration: settings)
    }

    /// Runs a long operation on a thread of its own.
    private static func blocking<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value
    {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "pushline.store.upkeep").async {
                continuation.resume(
                    with: Result {
                        do { return try body() } catch let error as DatabaseError { throw StoreError(error) }
                    }
                )
            }
        }
    }
}

/// A file that appears under its name when it is whole, and never in place of another.
final class NewFile {
    private let path: String
    /// Where it is written.
    let partial: String

    init(_ path: String) throws(StoreError) {
        self.path = path
        self.partial = "\(path).\(getpid()).partial"
        guard !FileManager.default.fileExists(atPath: path) else { throw Self.exists(path) }
        let descriptor = unsafe open(self.partial, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.failure(path) }
        close(descriptor)
    }

    /// Removes an incomplete copy.
    deinit { _ = unsafe unlink(self.partial) }

    func finish() throws(StoreError) { try Self.place(self.partial, at: self.path) }

    /// Gives a file that is complete another name, where nothing has that, when all is on the disk.
    static func place(_ partial: String, at path: String) throws(StoreError) {
        try Self.sync(partial)
        guard unsafe link(partial, path) == 0 else {
            throw errno == EEXIST ? Self.exists(path) : Self.failure(path)
        }
        try Self.sync(URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false))
    }

    /// Waits until a file or folder is on the disk.
    private static func sync(_ path: String) throws(StoreError) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.failure(path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw Self.failure(path) }
    }

    private static func exists(_ path: String) -> StoreError {
        StoreError(.conflict, "\(path) is there already: nothing is overwritten")
    }

    private static func failure(_ path: String) -> StoreError {
        StoreError(.unavailable, "\(path) cannot be written: \(unsafe String(cString: strerror(errno)))")
    }
}
