import CPostgreSQL
import Store
import StoreSQL

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// A connection of libpq's; its calls wait, and are made on one thread at a time.
///
/// What waits has a deadline of ours: libpq's `connect_timeout` does not hold for connections that are made step by step.
@safe final class Wire {
    private let handle: OpaquePointer
    /// Cut off in the middle of an exchange: whatever comes now belongs to that.
    private var isLost = false
    /// Whether somebody ended a commit's wait for a standby since an exchange began.
    private var isWaitCancelled = false
    private var prepared = PreparedStatements()

    private init(_ handle: OpaquePointer) { unsafe self.handle = handle }

    deinit { unsafe PQfinish(self.handle) }

    /// Connects.
    ///
    /// - Parameters:
    ///   - parameters: libpq's; a host without its address is looked up by the system, for as long as that takes.
    ///   - deadline: Until when.
    /// - Returns: The connection.
    /// - Throws: ``WireFault``.
    static func connect(
        _ parameters: [String: String],
        until deadline: ContinuousClock.Instant
    ) throws(WireFault) -> Wire {
        let parameters = Array(parameters)
        let begun = unsafe withCStrings(parameters.map(\.key)) { keywords in
            unsafe withCStrings(parameters.map(\.value)) { unsafe PQconnectStartParams(keywords, $0, 0) }
        }
        guard let handle = unsafe begun else {
            throw .lost("there is no memory for a connection", isSent: false)
        }
        let wire = unsafe Wire(handle)
        // What the server only remarks would go to the standard error. libpq calls the receiver within calls on this connection.
        unsafe PQsetNoticeReceiver(
            handle,
            { context, notice in
                guard let context = unsafe context, let notice = unsafe notice else { return }
                unsafe Unmanaged<Wire>.fromOpaque(context).takeUnretainedValue().receive(notice)
            },
            Unmanaged.passUnretained(wire).toOpaque()
        )
        var state = PGRES_POLLING_WRITING
        while state != PGRES_POLLING_OK {
            guard unsafe PQstatus(handle) != CONNECTION_BAD, state != PGRES_POLLING_FAILED else {
                throw .lost(wire.errorMessage, isSent: false)
            }
            let events = state == PGRES_POLLING_READING ? POLLIN : POLLOUT
            guard wire.wait(for: events, until: deadline) else { throw .lost("no answer in time", isSent: false) }
            state = unsafe PQconnectPoll(handle)
        }
        guard unsafe PQserverVersion(handle) >= 150_000 else {
            throw .lost("the server is older than PostgreSQL 15", isSent: false)
        }
        guard unsafe PQsetnonblocking(handle, 1) == 0, unsafe PQenterPipelineMode(handle) == 1 else {
            throw .lost(wire.errorMessage, isSent: false)
        }
        return wire
    }

    /// Whether nothing has come but what a live server sends unasked; one that has ended is known here, before anything is sent to it.
    var isAlive: Bool {
        guard !self.isLost, unsafe PQstatus(self.handle) == CONNECTION_OK else { return false }
        while self.wait(for: POLLIN, until: .now) {
            guard unsafe PQconsumeInput(self.handle) == 1 else { return false }
        }
        return true
    }

    /// Whether a transaction is open, or one has failed that must be rolled back.
    var isInTransaction: Bool { unsafe PQtransactionStatus(self.handle) != PQTRANS_IDLE }

    var isEncrypted: Bool { unsafe PQsslInUse(self.handle) == 1 }

    /// The number of the server's process, as whoever took the connection said it.
    var backendPID: Int32 { unsafe PQbackendPID(self.handle) }

    /// Sends statements together, and waits for the answers to them all: one round trip.
    ///
    /// Without a BEGIN among them they are one transaction, which is committed when this returns.
    func exchange(
        _ statements: [PostgreSQLStatement],
        until deadline: ContinuousClock.Instant
    ) throws(WireFault) -> [SQLAnswer] {
        guard !self.isLost else { throw .lost("the connection is lost", isSent: false) }
        self.isWaitCancelled = false
        do throws(WireFault) {
            var results: [SentPart] = []
            for statement in statements { try self.send(statement, &results) }
            guard unsafe PQpipelineSync(self.handle) == 1 else { throw .lost(self.errorMessage, isSent: false) }
            let answers = try self.answers(to: results, until: deadline)
            self.prepared.end(isDone: true)
            return answers
        } catch {
            self.prepared.end(isDone: false)
            if case .lost = error { self.isLost = true }
            throw error
        }
    }

    /// What a result is of.
    private enum SentPart {
        case preparation
        /// isPrepared: whether the server knows it by name.
        case statement(isPrepared: Bool)
    }

    private func send(_ statement: PostgreSQLStatement, _ results: inout [SentPart]) throws(WireFault) {
        let values = statement.parameters.map(\.binary)
        let types = statement.parameters.map(\.type)
        var name: String?
        switch self.prepared.form(of: statement, types) {
        case .whole: break
        case .known(let known): name = known
        case .new(let new):
            name = new
            let isSent = unsafe PQsendPrepare(self.handle, new, statement.text, Int32(types.count), types)
            guard isSent == 1 else { throw .lost(self.errorMessage, isSent: false) }
            results.append(.preparation)
        }
        results.append(.statement(isPrepared: name != nil))
        let lengths = values.map { Int32($0?.count ?? 0) }
        let formats = [Int32](repeating: 1, count: values.count)
        // One piece of memory for all values: each is a part of it.
        let memory = values.reduce(into: [UInt8]()) { $0 += $1 ?? [] } + [0]
        let isSent = unsafe memory.withUnsafeBytes { bytes -> Int32 in
            var (pointers, start) = unsafe ([] as [UnsafePointer<CChar>?], bytes.baseAddress)
            for value in values {
                unsafe pointers.append(value == nil ? nil : start?.assumingMemoryBound(to: CChar.self))
                unsafe start = start.map { unsafe $0 + (value?.count ?? 0) }
            }
            let count = Int32(values.count)
            guard let name else {
                return unsafe PQsendQueryParams(
                    self.handle,
                    statement.text,
                    count,
                    types,
                    pointers,
                    lengths,
                    formats,
                    1
                )
            }
            return unsafe PQsendQueryPrepared(self.handle, name, count, pointers, lengths, formats, 1)
        }
        guard isSent == 1 else { throw .lost(self.errorMessage, isSent: false) }
    }

    private func answers(to results: [SentPart], until deadline: ContinuousClock.Instant) throws(WireFault)
        -> [SQLAnswer]
    {
        var (isSent, answers, fault) = (false, [] as [SQLAnswer], nil as WireFault?)
        // Of the result that is next, and of its statement.
        var (next, place) = (0, 0)
        answers.reserveCapacity(results.count)
        while true {
            if !isSent {
                let left = unsafe PQflush(self.handle)
                guard left >= 0 else { throw .lost(self.errorMessage, isSent: false) }
                isSent = left == 0
            }
            while unsafe PQisBusy(self.handle) == 0 {
                // Each statement's result is followed by none.
                guard let result = unsafe PQgetResult(self.handle) else {
                    guard unsafe PQstatus(self.handle) == CONNECTION_OK else {
                        throw .lost(self.errorMessage, isSent: isSent)
                    }
                    continue
                }
                defer { unsafe PQclear(result) }
                switch unsafe PQresultStatus(result) {
                case PGRES_TUPLES_OK, PGRES_COMMAND_OK:
                    defer { next += 1 }
                    guard case .statement = results[next] else { continue }
                    do throws(StoreError) { answers.append(try unsafe SQLAnswer(result)) } catch {
                        fault = fault ?? .unreadable(error)
                    }
                    place += 1
                case PGRES_PIPELINE_SYNC:
                    if let fault { throw fault }
                    guard !self.isWaitCancelled else {
                        throw .lost("somebody ended its wait for a standby", isSent: true)
                    }
                    return answers
                case PGRES_PIPELINE_ABORTED: break
                default:
                    // An error that ends the connection says nothing of what was sent.
                    let isOver = unsafe ServerRefusal.endsConnection(result)
                    guard !isOver, unsafe PQstatus(self.handle) == CONNECTION_OK else {
                        throw .lost(unsafe String(cString: PQresultErrorMessage(result)).firstLine, isSent: isSent)
                    }
                    let refusal = unsafe ServerRefusal(result, statement: place)
                    fault =
                        if refusal.isReadOnly {
                            .lost("the server takes no writes", isSent: false)
                        } else if refusal.isOfOldPlan, next < results.count,
                            case .statement(isPrepared: true) = results[next]
                        {
                            .lost("the tables have changed", isSent: false)
                        } else {
                            .refused(refusal)
                        }
                }
            }
            guard self.wait(for: isSent ? POLLIN : POLLIN | POLLOUT, until: deadline) else {
                throw .lost("no answer in time", isSent: isSent)
            }
            // It sends what is left before it reads.
            guard unsafe PQconsumeInput(self.handle) == 1 else { throw .lost(self.errorMessage, isSent: true) }
        }
    }

    /// - Returns: false where nothing happened until then.
    private func wait(for events: Int32, until deadline: ContinuousClock.Instant) -> Bool {
        // libpq takes 8 kB at a time, and a record of TLS may be longer: what is left of it comes from the socket no more.
        if events & POLLIN != 0, unsafe pushline_postgresql_pending(self.handle) > 0 { return true }
        var socket = pollfd(fd: unsafe PQsocket(self.handle), events: Int16(events), revents: 0)
        while true {
            let rest = max(.zero, deadline - .now)
            let milliseconds = min((rest / .milliseconds(1)).rounded(.up), 60_000)
            let found = unsafe poll(&socket, 1, Int32(milliseconds))
            if found > 0 { return true }
            if found < 0, errno != EINTR { return true }
            if deadline <= .now { return false }
        }
    }

    /// Notes a warning without a code of its own.
    ///
    /// Our statements give one alone: that somebody ended a commit's wait for a standby, so that it is visible, and not where it is safe.
    private func receive(_ notice: OpaquePointer) {
        guard unsafe ServerRefusal.field(notice, "V") == "WARNING" else { return }
        if ["01000", "57P01"].contains(unsafe ServerRefusal.field(notice, "C")) { self.isWaitCancelled = true }
    }

    /// What libpq says of the connection; it never holds the password.
    private var errorMessage: String { unsafe String(cString: PQerrorMessage(self.handle)).firstLine }
}

extension String {
    fileprivate var firstLine: String { self.split(separator: "\n").first.map(String.init) ?? "the connection is lost" }
}

extension ServerRefusal {
    fileprivate init(_ result: OpaquePointer, statement: Int) {
        unsafe self.init(
            state: Self.field(result, "C") ?? "",
            serverMessage: Self.field(result, "M") ?? "",
            statement: statement
        )
    }

    fileprivate static func endsConnection(_ result: OpaquePointer) -> Bool {
        ["FATAL", "PANIC"].contains(unsafe self.field(result, "V") ?? "FATAL")
    }

    fileprivate static func field(_ result: OpaquePointer, _ code: Unicode.Scalar) -> String? {
        unsafe PQresultErrorField(result, Int32(code.value)).map { unsafe String(cString: $0) }
    }
}

extension SQLAnswer {
    fileprivate init(_ result: OpaquePointer) throws(StoreError) {
        let columns = (0..<(unsafe PQnfields(result))).map { unsafe String(cString: PQfname(result, $0)) }
        let types = (0..<Int32(columns.count)).map { unsafe PQftype(result, $0) }
        let rows = try (0..<(unsafe PQntuples(result))).map { row throws(StoreError) -> SQLRow in
            let values = try types.indices.map { index throws(StoreError) -> SQLValue in
                let column = Int32(index)
                guard unsafe PQgetisnull(result, row, column) == 0 else { return .null }
                let length = Int(unsafe PQgetlength(result, row, column))
                let bytes = unsafe UnsafeRawBufferPointer(start: PQgetvalue(result, row, column), count: length)
                return try unsafe SQLValue(bytes, type: types[index])
            }
            return SQLRow(columns: columns, values: values)
        }
        let changed = unsafe Int(String(cString: PQcmdTuples(result))) ?? 0
        self.init(rows: rows, count: unsafe PQresultStatus(result) == PGRES_TUPLES_OK ? rows.count : changed)
    }
}

/// Gives C strings to a function that takes an array of them, which nil ends.
private func withCStrings<Value>(
    _ texts: [String],
    _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Value
) -> Value {
    let copies = unsafe texts.map { text in unsafe strdup(text) }
    defer { unsafe copies.forEach { unsafe free($0) } }
    return unsafe body(copies.map { unsafe UnsafePointer($0) } + [nil])
}
