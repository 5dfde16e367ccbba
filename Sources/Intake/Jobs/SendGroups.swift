import NIOConcurrencyHelpers
import PushModel
import Store

/// Groups small sends that arrive at the same time in requests of their own.
///
/// While one group is written the next gathers: under load one commit and one message serve many sends, and a single
/// send does not wait. The request of a group's first send writes it; the limit of concurrent requests bounds the
/// waiting sends.
final class SendGroups: Sendable {
    /// The fewest sends in a group of a burst.
    private static let burst = 8

    private let acceptor: JobAcceptor
    /// The apps whose group is being written or whose last message lingers.
    private let lines = NIOLockedValueBox<[AppID: Line]>([:])
    private let watch = CommitWatch()

    /// The sends of an app.
    private struct Line {
        /// The sends of the next group.
        var waiting: [Waiting] = []
        var isWriting = false
        /// The message of a burst that further sends may join.
        var lingering: (message: MessageID, until: ContinuousClock.Instant)?

        /// The message that sends may join now.
        func toJoin(at now: ContinuousClock.Instant) -> MessageID? {
            self.lingering.flatMap { now < $0.until ? $0.message : nil }
        }
    }

    private struct Waiting: AwaitsCommit {
        let job: NewJob
        let deadline = CommitDeadline.current
        let continuation: CheckedContinuation<GroupRole, Never>
    }

    /// A send's role in its group.
    private enum GroupRole {
        /// It writes a group: itself, and those that wait.
        case write
        /// Another send's request has written it.
        case written(Result<JobAcceptance, any Error>)
    }

    init(acceptor: JobAcceptor) { self.acceptor = acceptor }

    /// Accepts a send, and has it published.
    ///
    /// - Throws: `StoreError` when it was not accepted.
    func accept(_ job: NewJob) async throws -> JobAcceptance {
        let role = await withCheckedContinuation { continuation in
            let waiting = Waiting(job: job, continuation: continuation)
            let isFirst = self.withLine(of: job.app) { line in
                if line.isWriting {
                    line.waiting.append(waiting)
                    return false
                }
                line.isWriting = true
                return true
            }
            if isFirst {
                continuation.resume(returning: .write)
            } else if waiting.deadline != nil {
                self.watch.begin(self.dropOverdue)
            }
        }
        switch role {
        case .written(let answer): return try answer.get()
        case .write:
            defer { self.passOn(job.app) }
            // The group before was written until now.
            if CommitDeadline.current?.isOver() == true { throw StoreError.overdue }
            let others = self.take(job.app)
            let answers = await self.write([job] + others.map(\.job), of: job.app)
            for (other, answer) in zip(others, answers.dropFirst()) {
                other.continuation.resume(returning: .written(answer))
            }
            return try answers[0].get()
        }
    }

    /// Works on an app's line where it is: a copy of it would copy all who wait.
    private func withLine<T>(of app: AppID, _ body: (inout Line) -> T) -> T {
        self.lines.withLockedValue { body(&$0[app, default: Line()]) }
    }

    /// The sends that are written together with a group's first.
    private func take(_ app: AppID) -> [Waiting] {
        self.withLine(of: app) { line in
            let others = Array(line.waiting.prefix(OutboxMessage.maximumMembers - 1))
            line.waiting.removeFirst(others.count)
            return others
        }
    }

    /// Ends those whose time is over while another group is written.
    ///
    /// - Returns: Whether others wait.
    private func dropOverdue() -> Bool {
        let (overdue, hasMore) = self.lines.withLockedValue { lines in
            lines.values.indices.reduce(into: ([Waiting](), false)) { found, index in
                found.0 += lines.values[index].waiting.removeOverdue()
                found.1 = found.1 || !lines.values[index].waiting.isEmpty
            }
        }
        for waiting in overdue { waiting.continuation.resume(returning: .written(.failure(StoreError.overdue))) }
        return hasMore
    }

    /// Starts writing the next group, if there is one.
    private func passOn(_ app: AppID) {
        let next = self.lines.withLockedValue { lines -> Waiting? in
            if lines[app]?.waiting.isEmpty == false { return lines[app]?.waiting.removeFirst() }
            lines[app]?.isWriting = false
            if lines[app]?.toJoin(at: .now) == nil { lines[app] = nil }
            return nil
        }
        next?.continuation.resume(returning: .write)
    }

    private func write(_ jobs: [NewJob], of app: AppID) async -> [Result<JobAcceptance, any Error>] {
        let joining = self.withLine(of: app) { $0.toJoin(at: .now) }
        do {
            guard joining != nil || jobs.count >= Self.burst else {
                return try await self.acceptor.accept(jobs).map { .success($0) }
            }
            let accepted = try await self.acceptor.accept(jobs, joining: joining)
            if let lingering = accepted.lingering {
                self.withLine(of: app) { $0.lingering = (lingering, .now + JobPublisher.linger) }
            }
            return accepted.answers.map { .success($0) }
        } catch let error as StoreError where !error.mayPass && error.code != .overdue && jobs.count > 1 {
            // One of them may be at fault: the others are not refused for it.
            var answers: [Result<JobAcceptance, any Error>] = []
            for job in jobs { answers += await self.write([job], of: app) }
            return answers
        } catch {
            return jobs.map { _ in .failure(error) }
        }
    }
}
