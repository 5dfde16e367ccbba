import GRDB
import Store

extension DatabaseError {
    /// The fault is the file's, not the statement's: nothing of the transaction can be kept.
    var endsGroup: Bool {
        switch self.resultCode {
        case .SQLITE_CONSTRAINT, .SQLITE_ERROR, .SQLITE_MISMATCH, .SQLITE_RANGE, .SQLITE_TOOBIG: false
        default: true
        }
    }
}

extension StoreError {
    /// Maps an error of SQLite to the store's error.
    init(_ error: DatabaseError) {
        let code: Code =
            switch error.resultCode {
            case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_MISMATCH, .SQLITE_ERROR, .SQLITE_MISUSE, .SQLITE_RANGE:
                .corrupt
            case .SQLITE_CONSTRAINT: .conflict
            default: .unavailable
            }
        let number = "SQLite answers \(error.extendedResultCode.rawValue)"
        self.init(code, Self.advice(error.resultCode).map { "\($0) (\(number))" } ?? number)
    }

    /// The operator's remedy for an error of the disk.
    private static func advice(_ code: ResultCode) -> String? {
        switch code {
        case .SQLITE_FULL: "the disk is full: make room on the store's file system, and it goes on by itself"
        case .SQLITE_READONLY:
            "the store is read-only: make its file system and files writable for this user, and it goes on by itself"
        case .SQLITE_IOERR: "the disk does not read or write: look at the system's log, and at the room on it"
        case .SQLITE_CANTOPEN:
            "a file of the store cannot be opened: its folder must be there, and writable for this user"
        case .SQLITE_CORRUPT: "the file is damaged"
        case .SQLITE_NOTADB: "the file is not a SQLite database, or its beginning is damaged"
        case .SQLITE_BUSY, .SQLITE_LOCKED: "another process has held the store for too long"
        default: nil
        }
    }
}
