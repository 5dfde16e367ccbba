import HTTPTypes
import Hummingbird
import Intake
import NIOConcurrencyHelpers
import NIOCore
import PushModel
import Settings
import Store
import WebServing

/// `POST /api/sends/batch`: many sends, a line of JSON each, answered line by line.
struct SendLinesRoute: Sendable {
    /// The most lines of one request.
    static let maximumLines = 10_000
    /// Longer lines are accepted one by one, and take a permit as large bodies do: ten times what any push service accepts.
    static let usualLine = 64 << 10
    /// The most bytes of a request.
    static let maximumSize = 64 << 20
    /// The most concurrent uploads: each keeps its answers in memory.
    static let together = 16

    let context: RouteContext
    private let uploads = FairPermits(Self.together)

    init(context: RouteContext) { self.context = context }

    var routes: [Route] {
        [Route(.post, "/api/sends/batch", body: .stream, takesKey: true, handler: self.send)]
    }

    private func send(_ request: APIRequest) async throws -> Response {
        _ = try request.query.strict(known: [])
        try request.requireLines()
        guard let permit = self.uploads.permit(for: try request.caller) else {
            throw Problem.later(.serviceUnavailable, "too many uploads of sends are in progress", seconds: 1)
        }
        defer { withExtendedLifetime(permit) {} }
        // The answer begins after the last line: with a client that writes everything before it reads, both sides would
        // wait.
        let upload = try SendUpload(request: request, context: self.context)
        let timeout = ProgressTimeout(self.context.configuration.serving)
        do {
            try await timeout.run { await upload.read(timeout) }
        } catch is ProgressTimeout.Stalled {
            upload.breakOff(408, ProgressTimeout.words(self.context.configuration.serving))
        }
        guard !upload.isEmpty else { throw Problem.invalid([InvalidValue("the body has no lines")]) }
        var response = Response(
            status: .ok,
            headers: [.contentType: "application/x-ndjson", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: upload.answers))
        )
        // The rest of the body was not read.
        if upload.isBrokenOff { response.headers[.connection] = "close" }
        return response
    }
}

/// One upload: reads its lines, accepts them in groups and keeps the answers.
///
/// One task reads; another may end it, and read its answers once that task has ended.
private final class SendUpload: Sendable {
    private let request: APIRequest
    private let context: RouteContext
    private let caller: Caller
    private let key: String?
    private let state = NIOLockedValueBox(State())

    private struct State {
        /// The answers so far, in any order: some lines are refused while those before them are being accepted.
        var answers: [(line: Int, text: [UInt8])] = []
        /// The number of the last line that was read.
        var line = 0
        var isBrokenOff = false
    }

    /// A line that is right.
    private struct Candidate {
        let line: Int
        let job: NewJob
        let warnings: [InvalidValue]
    }

    /// Lines that are to be accepted together.
    private struct Group {
        var candidates: [Candidate] = []
        /// The bytes of their lines.
        var size = 0
        /// The devices of their lists, each a row of the transaction that accepts them.
        var recipients = 0

        /// Whether the group is full, by its number of sends, by its memory, or by its rows.
        var isFull: Bool {
            self.candidates.count == OutboxMessage.maximumMembers || self.size > 1 << 20
                || self.recipients >= SendList.maximum
        }
    }

    init(request: APIRequest, context: RouteContext) throws {
        self.request = request
        self.context = context
        self.caller = try request.caller
        self.key = try request.idempotencyKey
    }

    /// The answers to all lines, in order.
    var answers: [UInt8] {
        let answers = self.state.withLockedValue { $0.answers }
        return answers.sorted { $0.line < $1.line }.reduce(into: []) { $0 += $1.text }
    }

    var isEmpty: Bool { self.state.withLockedValue { $0.answers.isEmpty } }
    var isBrokenOff: Bool { self.state.withLockedValue { $0.isBrokenOff } }

    /// Adds an error for the lines that are not read.
    func breakOff(_ status: Int, _ detail: String) {
        self.state.withLockedValue { state in
            state.isBrokenOff = true
            let line = state.line + 1
            state.answers.append((line, Self.answer(line, status, detail: detail + "; what follows was not read")))
        }
    }

    /// Reads the body to its end, or to where no more of it is taken.
    func read(_ timeout: ProgressTimeout) async {
        await withTaskGroup(of: Void.self) { await self.read(timeout, accepting: &$0) }
    }

    private func read(_ timeout: ProgressTimeout, accepting tasks: inout TaskGroup<Void>) async {
        var splitter = LineSplitter(limit: self.context.configuration.settings.sendSize)
        var group = Group()
        var size = 0
        do {
            var pieces = self.request.stream.makeAsyncIterator()
            while let piece = try await Self.next(&pieces, timeout: timeout) {
                size += piece.readableBytes
                var lines: [LineSplitter.Line] = []
                splitter.split(piece) { lines.append($0) }
                for line in lines {
                    guard await self.take(line, size: size, into: &group, accepting: &tasks) else { return }
                }
                // A piece may have thousands of lines, and others wait for the thread.
                await Task.yield()
            }
            if !Task.isCancelled, let line = splitter.last() {
                _ = await self.take(line, size: size, into: &group, accepting: &tasks)
            }
            await self.accept(&group, in: &tasks)
        } catch {
            // The sender is gone. The lines read are accepted nevertheless: the repeat may have the same key.
            await self.accept(&group, in: &tasks)
            let problem = (error as? Problem) ?? BodyReader.brokenOff
            if !Task.isCancelled { self.breakOff(problem.status.code, problem.detail) }
        }
    }

    private static func next(
        _ pieces: inout RequestBody.AsyncIterator,
        timeout: ProgressTimeout
    ) async throws -> ByteBuffer? {
        try await timeout.waiting({ $0?.readableBytes ?? 0 }) { try await pieces.next(isolation: #isolation) }
    }

    /// Takes a line; a group that is full with it is accepted.
    ///
    /// - Returns: false when no more is taken.
    private func take(
        _ line: LineSplitter.Line,
        size: Int,
        into group: inout Group,
        accepting tasks: inout TaskGroup<Void>
    ) async -> Bool {
        let number = line.number
        guard number <= SendLinesRoute.maximumLines, size <= SendLinesRoute.maximumSize else {
            await self.accept(&group, in: &tasks)
            let limit =
                number > SendLinesRoute.maximumLines
                ? "\(SendLinesRoute.maximumLines) lines" : "\(SendLinesRoute.maximumSize) bytes"
            self.breakOff(413, "at most \(limit) are taken at once")
            return false
        }
        self.state.withLockedValue { $0.line = number }
        let length = line.bytes?.count ?? 0
        let isLong = length > SendLinesRoute.usualLine
        var permit: FairPermits.Permit?
        if isLong {
            do { permit = try self.context.large.permit(length * LargeBodies.ofSend, for: self.caller) } catch {
                self.refuse(number, 503, "too many long lines are being read; \(Self.hint)")
                return true
            }
        }
        defer { withExtendedLifetime(permit) {} }
        let read: Candidate?
        if length > LargeWork.least {
            read = await self.context.large.thread.run(for: self.caller.app) { self.candidate(line) }
        } else {
            read = self.candidate(line)
        }
        if let candidate = read {
            group.candidates.append(candidate)
            group.size += line.bytes?.count ?? 0
            group.recipients += candidate.job.recipients?.count.count ?? 0
        }
        if isLong || group.isFull { await self.accept(&group, in: &tasks) }
        // The permit is held until the line is in the store.
        if isLong { await tasks.next() }
        return true
    }

    /// Accepts lines while the next are read; one group at a time, so that jobs keep the order of their lines.
    private func accept(_ group: inout Group, in tasks: inout TaskGroup<Void>) async {
        await tasks.next()
        let candidates = group.candidates
        group = Group()
        if !candidates.isEmpty { tasks.addTask { await self.accept(candidates) } }
    }

    /// The job of a line; nil if it is empty or wrong, and then it is answered.
    private func candidate(_ line: LineSplitter.Line) -> Candidate? {
        let number = line.number
        guard let bytes = line.bytes else {
            let limit = self.context.configuration.settings.sendSize
            self.refuse(number, 413, "a line has at most \(limit) bytes")
            return nil
        }
        guard !line.isBlank else { return nil }
        do {
            let value: JSONValue
            do { value = try JSONReader.read(bytes) } catch {
                self.refuse(number, 400, "not JSON: column \(error.column): \(error.reason)")
                return nil
            }
            let body = try SendRoutes.body(value, caller: self.caller, spec: self.request.spec)
            let idempotency = self.key.map { key in
                NewJob.Idempotency(
                    caller: self.caller.description,
                    route: "POST /api/sends/batch",
                    key: "\(key)#\(number)",
                    hash: self.request.hash(of: bytes)
                )
            }
            let job = try self.context.intake.job(
                of: body.send,
                from: self.caller,
                spec: self.request.spec,
                idempotency: idempotency
            )
            return Candidate(line: number, job: job, warnings: body.warnings)
        } catch let problem as Problem {
            self.refuse(problem, number)
        } catch let invalid as InvalidValue {
            self.refuse(Problem.invalid([invalid]), number)
        } catch let refusal as Refusal {
            self.refuse(Problem(refusal), number)
        } catch {
            self.refuse(number, 500, "an internal error")
        }
        return nil
    }

    /// Accepts the valid lines of a group together.
    private func accept(_ candidates: [Candidate]) async {
        do {
            let answers = try await self.context.intake.accept(candidates.map(\.job))
            self.state.withLockedValue { state in
                for (candidate, answer) in zip(candidates, answers) {
                    state.answers.append((candidate.line, Self.answer(candidate, answer)))
                }
            }
        } catch {
            let problem = (error as? StoreError).map { Problem($0, isRepeatable: self.key != nil) } ?? .internalError
            let isPassing = problem.status == .serviceUnavailable
            let detail =
                problem.mayBeDoneTwice
                ? problem.detail
                : isPassing ? "the store is unavailable; \(Self.hint)" : Problem.internalError.detail
            for candidate in candidates { self.refuse(candidate.line, isPassing ? 503 : 500, detail) }
        }
    }

    // MARK: Answers

    private static let hint = "send all again later, with the same Idempotency-Key and in the same order"

    private static func answer(_ candidate: Candidate, _ answer: JobAcceptance) -> [UInt8] {
        let line = candidate.line
        switch answer {
        case .accepted(let job):
            return self.accepted(candidate, job.id)
        case .repeated(let id):
            return self.accepted(candidate, id, isRepeated: true)
        case .keyReused:
            let detail =
                "this line differs from the same line of an earlier request with that Idempotency-Key; choose a new key"
            return self.answer(line, 422, member: "Idempotency-Key", detail: detail)
        case .backlogFull:
            return self.answer(
                line,
                503,
                detail: "the job backlog is full; \(self.hint)"
            )
        }
    }

    private static func accepted(_ candidate: Candidate, _ id: JobID, isRepeated: Bool = false) -> [UInt8] {
        var text = JSONWriter.object {
            $0.add("line", candidate.line)
            $0.add("status", 202)
            $0.add("id", id.description)
            if isRepeated { $0.add("repeated", true) }
            if !candidate.warnings.isEmpty { $0.add("warnings", PreviewJSON.json(candidate.warnings)) }
        }
        text.append(UInt8(ascii: "\n"))
        return text
    }

    private static func answer(_ line: Int, _ status: Int, member: String? = nil, detail: String) -> [UInt8] {
        let value = JSONValue.members([
            "line": .integer(line), "status": .integer(status), "member": member.map(JSONValue.string),
            "detail": .string(String(detail.prefix(300))),
        ])
        return value.bytes + [UInt8(ascii: "\n")]
    }

    private func refuse(_ line: Int, _ status: Int, _ detail: String, member: String? = nil) {
        let text = Self.answer(line, status, member: member, detail: detail)
        self.state.withLockedValue { $0.answers.append((line, text)) }
    }

    private func refuse(_ problem: Problem, _ line: Int) {
        let fault = problem.errors.first
        let member = fault.flatMap { $0.member.isEmpty ? nil : $0.member }
        self.refuse(line, problem.status.code, fault?.reason ?? problem.detail, member: member)
    }
}
