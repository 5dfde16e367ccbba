import Store
import StoreSQL

/// Why an exchange with the server came to nothing.
enum WireFault: Error {
    /// The server refuses a statement; nothing of the exchange is committed.
    case refused(ServerRefusal)
    /// An answer is not what a statement gives; what wrote is committed.
    case unreadable(StoreError)
    /// There is no connection any more. isSent: whether the server may have all that was sent, and do it.
    case lost(String, isSent: Bool)

    /// The error of an exchange that only read.
    var ofRead: any Error {
        switch self {
        case .refused(let refusal): refusal.error
        case .unreadable(let error): error
        case .lost(let reason, _): StoreError(.unavailable, reason)
        }
    }

    /// The error of an exchange that wrote.
    var ofWrite: any Error {
        switch self {
        case .lost(let reason, isSent: true): StoreError(.unknown, "PostgreSQL gave no answer to a commit: \(reason)")
        case .refused, .unreadable, .lost: self.ofRead
        }
    }

    /// Whether an answer to a commit is missing.
    var mayBeCommitted: Bool {
        if case .lost(_, isSent: true) = self { true } else { false }
    }

    /// The same of what a connection begins with, which says nothing of what its caller will send.
    var ofBeginning: WireFault {
        switch self {
        case .refused(let refusal): .lost(refusal.message, isSent: false)
        case .unreadable(let error): .lost(error.message, isSent: false)
        case .lost(let reason, _): .lost(reason, isSent: false)
        }
    }

    /// The same of a transaction whose commit was not sent yet, behind its BEGIN.
    var beforeCommit: WireFault {
        switch self {
        case .refused(let refusal): .refused(refusal.behindBegin)
        case .unreadable: self
        case .lost(let reason, _): .lost(reason, isSent: false)
        }
    }
}

/// A guard of a transaction found other rows than it expects, so that nothing was written.
struct GuardFails: Error {
    /// The place of its statement among those that were sent together.
    let statement: Int
}

/// A statement's error.
struct ServerRefusal {
    /// SQLSTATE.
    let state: String
    /// It may hold values of rows.
    private let serverMessage: String
    /// The place of the statement among those that were sent together.
    let statement: Int

    init(state: String, serverMessage: String, statement: Int) {
        (self.state, self.serverMessage, self.statement) = (state, serverMessage, statement)
    }

    /// Of a guard that fails: the function `must` raises it.
    static let guardFails = "PL409"

    /// The server has become a standby, or was set so, since it was connected to.
    var isReadOnly: Bool { self.state == "25006" }

    /// A statement that was prepared gives other columns than before ("cached plan must not change result type").
    var isOfOldPlan: Bool { self.state == "0A000" }

    /// The same, where BEGIN is not counted.
    fileprivate var behindBegin: ServerRefusal {
        ServerRefusal(state: self.state, serverMessage: self.serverMessage, statement: self.statement - 1)
    }

    func isGuard(at place: Int) -> Bool { self.state == Self.guardFails && self.statement == place }

    /// Where others were in the way, all is to be done again.
    var error: any Error {
        switch self.state {
        case Self.guardFails: GuardFails(statement: self.statement)
        case "40001", "40P01", "23505": ReadIsOld()
        default: StoreError(self.code, self.message)
        }
    }

    private var code: StoreError.Code {
        switch self.state.prefix(2) {
        case "22", "42": .corrupt
        case "23": .conflict
        default: .unavailable
        }
    }

    /// The server's messages of errors of data and constraints repeat values.
    fileprivate var message: String {
        let answer = "PostgreSQL answers \(self.state) to statement \(self.statement + 1)"
        return ["22", "23", "P0"].contains(String(self.state.prefix(2))) ? answer : "\(answer): \(self.serverMessage)"
    }
}
