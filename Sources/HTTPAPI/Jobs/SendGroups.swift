import FaultInjection
import NIOConcurrencyHelpers
import PushModel
import Store

/// Has sends accepted together that come at the same time, each in a request of its own.
///
/// While one group is written the next gathers: under load one commit serves many sends, and one bundle and message those of many
/// commits; a send that comes alone waits for nobody. Each group is written by the request of its first send; requests under way
/// bound what waits.
final class SendGroups: Sendable {
    /// So many in a group are a rush.
    private static let many = 8
    /// For so long after one, what is accepted joins a bundle that grows: it costs the workers much the same, however large it is.
    private static let rush = Duration.milliseconds(50)

    /// So often a group of a rush lets other tasks go first: those whose requests have come in join it, and cost no commit of their own.
    private static let courtesy = 2

    private let store: any BundleStore
    private let publisher: JobPublisher
    /// Of each app of which a group is being written, or that was in a rush when the last one was.
    private let lines = NIOLockedValueBox<[AppID: Line]>([:])

    /// The sends of an app.
    private struct Line {
        /// Those of the next group.
        var waiting: [Waiting] = []
        /// Whether a group is being written, or about to be.
        var isWriting = false
        var rushEnd: ContinuousClock.Instant?

        func isRush(at now: ContinuousClock.Instant) -> Bool { self.rushEnd.map { now < $0 } ?? false }

        /// Whether nothing needs to be remembered of it.
        func isIdle(at now: ContinuousClock.Instant) -> Bool {
            !self.isWriting && self.waiting.isEmpty && !self.isRush(at: now)
        }
    }

    private struct Waiting {
        let job: NewJob
        let continuation: CheckedContinuation<Turn, Never>
    }

    /// How a send goes on.
    private enum Turn {
        /// It writes a group: itself, and those that wait.
        case write
        /// Another send's request has written it.
        case written(Result<GroupAcceptance.Answer, any Error>)
    }

    init(store: any BundleStore, publisher: JobPublisher) {
        self.store = store
        self.publisher = publisher
    }

    /// Accepts a send as ``BundleStore/accept(together:)`` does, and has it published.
    ///
    /// - Throws: `StoreError` when it was not accepted.
    func accept(_ job: NewJob) async throws -> GroupAcceptance.Answer {
        let turn = await withCheckedContinuation { continuation in
            let isFirst = self.withLine(of: job.app) { line in
                if line.isWriting {
                    line.waiting.append(Waiting(job: job, continuation: continuation))
                    return false
                }
                line.isWriting = true
                return true
            }
            if isFirst { continuation.resume(returning: .write) }
        }
        switch turn {
        case .written(let answer): return try answer.get()
        case .write:
            if self.withLine(of: job.app, { $0.isRush(at: .now) }) {
                for _ in 0..<Self.courtesy { await Task.yield() }
            }
            let (others, isRush) = self.take(job.app)
            defer { self.passOn(job.app) }
            let answers = await self.write([job] + others.map(\.job), inRush: isRush)
            for (other, answer) in zip(others, answers.dropFirst()) {
                other.continuation.resume(returning: .written(answer))
            }
            return try answers[0].get()
        }
    }

    /// The sends that are written together with a group's first, and whether there is a rush.
    private func take(_ app: AppID) -> (others: [Waiting], isRush: Bool) {
        self.withLine(of: app) { line in
            let others = Array(line.waiting.prefix(SendBundle.maximumJobs - 1))
            line.waiting.removeFirst(others.count)
            let now = ContinuousClock.now
            if others.count + 1 >= Self.many { line.rushEnd = now + Self.rush }
            return (others, line.isRush(at: now))
        }
    }

    /// Has the next group written, if somebody waits.
    private func passOn(_ app: AppID) {
        let next = self.withLine(of: app) { line -> Waiting? in
            guard line.waiting.isEmpty else { return line.waiting.removeFirst() }
            line.isWriting = false
            return nil
        }
        if let next { return next.continuation.resume(returning: .write) }
        self.lines.withLockedValue { if $0[app]?.isIdle(at: .now) == true { $0[app] = nil } }
    }

    /// Works on an app's line where it is: a copy of it would copy all who wait.
    private func withLine<T>(of app: AppID, _ body: (inout Line) -> T) -> T {
        self.lines.withLockedValue { body(&$0[app, default: Line()]) }
    }

    /// Accepts a group and has it published; in a rush it may join a bundle that grows for a moment.
    private func write(
        _ jobs: [NewJob],
        inRush isRush: Bool = false
    ) async -> [Result<GroupAcceptance.Answer, any Error>] {
        do {
            let accepted = try await self.store.accept(together: jobs, joining: isRush)
            CrashPoint.apiAccepted.reach()
            if isRush {
                self.publisher.publishSoon(accepted.bundles)
                self.publisher.publish([], and: accepted.singles)
            } else {
                self.publisher.publish(accepted.bundles, and: accepted.singles)
            }
            return accepted.answers.map { .success($0) }
        } catch let error as StoreError where error.code != .unavailable && jobs.count > 1 {
            // One of them may be at fault: the others are not refused for it.
            var answers: [Result<GroupAcceptance.Answer, any Error>] = []
            for job in jobs { answers += await self.write([job]) }
            return answers
        } catch {
            return jobs.map { _ in .failure(error) }
        }
    }
}
