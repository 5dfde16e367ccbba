import NIOConcurrencyHelpers
import PushModel
import Store

/// Has small sends accepted together that come at the same time, each in a request of its own.
///
/// While one group is written the next gathers: under load one commit and one message serve many sends; a send that comes alone
/// waits for nobody. Each group is written by the request of its first send; requests under way bound what waits.
final class SendGroups: Sendable {
    private let acceptor: JobAcceptor
    /// Of each app of which a group is being written: the sends of its next group.
    private let lines = NIOLockedValueBox<[AppID: [Waiting]]>([:])

    private struct Waiting {
        let job: NewJob
        let continuation: CheckedContinuation<Turn, Never>
    }

    /// How a send goes on.
    private enum Turn {
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
        let turn = await withCheckedContinuation { continuation in
            let isFirst = self.lines.withLockedValue { lines in
                guard lines[job.app] != nil else {
                    lines[job.app] = []
                    return true
                }
                lines[job.app]?.append(Waiting(job: job, continuation: continuation))
                return false
            }
            if isFirst { continuation.resume(returning: .write) }
        }
        switch turn {
        case .written(let answer): return try answer.get()
        case .write:
            defer { self.passOn(job.app) }
            let others = self.take(job.app)
            let answers = await self.write([job] + others.map(\.job))
            for (other, answer) in zip(others, answers.dropFirst()) {
                other.continuation.resume(returning: .written(answer))
            }
            return try answers[0].get()
        }
    }

    /// The sends that are written together with a group's first.
    private func take(_ app: AppID) -> [Waiting] {
        self.lines.withLockedValue { lines in
            let others = Array((lines[app] ?? []).prefix(OutboxMessage.maximumMembers - 1))
            lines[app]?.removeFirst(others.count)
            return others
        }
    }

    /// Has the next group written, if somebody waits.
    private func passOn(_ app: AppID) {
        let next = self.lines.withLockedValue { lines -> Waiting? in
            if lines[app]?.isEmpty == false { return lines[app]?.removeFirst() }
            lines[app] = nil
            return nil
        }
        next?.continuation.resume(returning: .write)
    }

    private func write(_ jobs: [NewJob]) async -> [Result<JobAcceptance, any Error>] {
        do {
            return try await self.acceptor.accept(jobs).map { .success($0) }
        } catch let error as StoreError where error.code != .unavailable && jobs.count > 1 {
            // One of them may be at fault: the others are not refused for it.
            var answers: [Result<JobAcceptance, any Error>] = []
            for job in jobs { answers += await self.write([job]) }
            return answers
        } catch {
            return jobs.map { _ in .failure(error) }
        }
    }
}
