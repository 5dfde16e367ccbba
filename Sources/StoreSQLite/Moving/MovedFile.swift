import Foundation
import GRDB
import PushModel
package import Store
import StoreKit
package import StoreSQL

/// A file that a store is moved from, or into; no program has it open meanwhile.
package final class MovedFile {
    private let path: String
    private let file: DatabaseQueue
    /// Held as by a restore: whoever opens the store waits in vain.
    private let users: FileLock
    /// Where a target is written until it is whole; nil = it is a source.
    private let partial: String?

    /// A store that is moved from here.
    ///
    /// - Throws: ``StoreError`` where there is none, a process has it open, or its tables are not this program's.
    package init(from path: String) throws {
        guard FileManager.default.fileExists(atPath: path) else {
            throw StoreError(.unavailable, "\(path): there is no store")
        }
        (self.path, self.partial) = (path, nil)
        self.users = try Self.lock(path)
        do {
            self.file = try SQLiteStore.connection(path)
            let found = try self.file.inDatabase { try Schema.found(in: Database($0)) }
            try SQLiteStore.check(found, Schema.plan)
        } catch let error as DatabaseError { throw StoreError(error) }
    }

    /// A new store, which is at its place once it is whole.
    ///
    /// - Throws: ``StoreError`` where something is there.
    package init(to path: String) throws {
        for name in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: path + name) {
            throw StoreError(.conflict, "\(path)\(name) is there: nothing is overwritten")
        }
        let partial = Self.partial(path)
        (self.path, self.partial) = (path, partial)
        self.users = try Self.lock(path)
        SQLiteStore.createPrivately(partial)
        do {
            self.file = try SQLiteStore.connection(partial)
            try self.file.inDatabase { connection in
                let database = Database(connection)
                guard try Schema.found(in: database) == .none else { return }
                try database.writing { try Schema.create(in: $0, Schema.plan) }
            }
        } catch let error as DatabaseError { throw StoreError(error) }
    }

    /// Where a store is as long as not all of it has come to its place.
    static func partial(_ path: String) -> String { path + ".moving" }

    private static func lock(_ path: String) throws -> FileLock {
        let users = try FileLock(path: path + ".users")
        guard users.tryLock() else {
            throw StoreError(.unavailable, "processes have the store at \(path) open: stop them all")
        }
        return users
    }

    private func reading<Value>(_ body: (Database) throws -> Value) throws -> Value {
        do { return try self.file.inDatabase { try body(Database($0)) } } catch let error as DatabaseError {
            throw StoreError(error)
        }
    }

    private func writing(_ body: (Database) throws -> Void) throws {
        try self.reading { try $0.writing(body) }
    }
}

extension MovedFile: MovedStore {
    package func columns(of table: MovedTable) throws -> [String] {
        try self.reading { try $0.values("SELECT name FROM pragma_table_info(?)", [table.name]) }
    }

    package func relation(of table: MovedTable) -> String { table.name }

    package func rows(_ query: SQLStatement) throws -> [SQLRow] { try self.reading { try $0.answer(query).rows } }

    package func highestNumber(of table: MovedTable) throws -> Int64 {
        try self.reading { database in
            let last: Int64? = try database.value("SELECT max(\"\(table.key[0])\") FROM \(table.name)")
            let used: Int64? = try database.value("SELECT seq FROM sqlite_sequence WHERE name = ?", [table.name])
            return max(last ?? 0, used ?? 0)
        }
    }

    package func state() throws -> MovedState {
        try self.reading { database in
            let source = try SystemClock()
            var clock: StoreClock?
            try database.writing { clock = try StoreClock.anchor(source, in: $0) }
            let cursors: [UInt8]? = try database.value("SELECT key FROM cursor_key WHERE id = 1")
            let handles: [UInt8]? = try database.value("SELECT key FROM handle_key WHERE id = 1")
            let backlog = try database.first("SELECT unfinished, scheduled FROM backlog") {
                (unfinished: $0["unfinished"] as Int64, scheduled: $0["scheduled"] as Int64)
            }
            guard let clock, let cursors, let handles, let backlog else {
                throw StoreError(.corrupt, "\(self.path) lacks what a store has beside its tables")
            }
            return MovedState(cursorKey: cursors, handleKey: handles, now: clock.now, backlog: backlog)
        }
    }
}

extension MovedFile: MoveTarget {
    package func begin(_ state: MovedState) throws {
        try self.writing { database in
            let known: [UInt8]? = try database.value("SELECT key FROM cursor_key WHERE id = 1")
            guard known != state.cursorKey else { return }
            guard try !database.exists("SELECT 1 FROM app") else {
                throw StoreError(.conflict, "\(Self.partial(self.path)) has rows of another store: take it away")
            }
            try database.run("UPDATE cursor_key SET key = ?", [state.cursorKey])
            try database.run("UPDATE handle_key SET key = ?", [state.handleKey])
        }
    }

    package func write(_ rows: [[SQLValue]], _ columns: [String], to table: MovedTable) throws {
        let names = columns.map { "\"\($0)\"" }.joined(separator: ", ")
        let marks = columns.map { _ in "?" }.joined(separator: ", ")
        let text = "INSERT INTO \(table.name)(\(names)) VALUES (\(marks))"
        try self.writing { database in
            let digest = try database.handleDigest()
            for row in rows {
                try database.run(text, row)
                guard table.name == "registration" else { continue }
                let registration = SQLRow(columns: columns, values: row)
                guard let number = try digest.number(of: registration) else { continue }
                let added = HandleTable.add(number, to: "\(try registration["row"] as Int64)")
                _ = try database.answer(added)
            }
        }
    }

    package func finish(_ state: MovedState, numbers: [String: Int64], by act: NewAct?) throws {
        try self.writing { database in
            for (name, number) in numbers {
                // Those that use numbers again have no row there, and need none: nothing names a number that is gone.
                try database.run("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", [number, name])
                let isKept = try database.exists("SELECT 1 FROM sqlite_sequence WHERE name = ?", [name])
                let isOwn = "SELECT 1 FROM sqlite_master WHERE name = ? AND sql LIKE '%AUTOINCREMENT%'"
                guard !isKept, try database.exists(isOwn, [name]) else { continue }
                try database.run("INSERT INTO sqlite_sequence(name, seq) VALUES (?, ?)", [name, number])
            }
            let (unfinished, scheduled) = state.backlog
            try database.run("UPDATE backlog SET unfinished = ?, scheduled = ?", [unfinished, scheduled])
            // Of no start of a machine's: whoever opens the store goes on from here.
            try database.run(
                "INSERT OR REPLACE INTO clock(id, boot, shift, seen) VALUES (1, 'moved', 0, ?)",
                [state.now]
            )
            if let act { _ = try database.answer(ActTable.insertion(act, at: .now)) }
        }
        guard let partial else { return }
        do { try self.file.close() } catch let error as DatabaseError { throw StoreError(error) }
        try NewFile.place(partial, at: self.path)
        _ = unsafe unlink(partial)
    }
}
