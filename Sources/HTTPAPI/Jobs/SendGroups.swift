import FaultInjection
import NIOConcurrencyHelpers
import PushModel
import Store

/// Has sends accepted together that come at the same time, each in a request of its own.
///
/// While one group is written the next gathers: under load one commit, one bundle and one message serve many sends, and a send that
/// comes alone waits for nobody. Each group is written by the request of its first send; requests under way bound what waits.
final class SendGroups: Sendable {
    /// Where so many came in a group, the next waits for as long: a group costs all processes much the same, however large it is.
    private static let many = 8
    private static let gathering = Duration.milliseconds(4)

    private let store: any BundleStore
    private let publisher: JobPublisher
    /// The sends that wait, of each app of which a group is being written.
    private let lines = NIOLockedValueBox<[AppID: [Waiting]]>([:])

    private struct Waiting {
        let job: NewJob
        let continuation: CheckedContinuation<Turn, Never>
    }

    /// How a send goes on.
    private enum Turn {
        /// It writes a group: itself, and those that wait, after gathering more of them or at once.
        case write(afterGathering: Bool)
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
            let isFree = self.lines.withLockedValue { lines in
                let isFree = lines[job.app] == nil
                if isFree {
                    lines[job.app] = []
                } else {
                    lines[job.app]?.append(Waiting(job: job, continuation: continuation))
                }
                return isFree
            }
            if isFree { continuation.resume(returning: .write(afterGathering: false)) }
        }
        switch turn {
        case .written(let answer): return try answer.get()
        case .write(let isGathering):
            // Cancelled = at once.
            if isGathering { try? await Task.sleep(for: Self.gathering) }
            let others = self.take(job.app)
            defer { self.passOn(job.app, wereMany: others.count >= Self.many) }
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
            guard let line = lines[app], !line.isEmpty else { return [] }
            lines[app] = Array(line.dropFirst(SendBundle.maximumJobs - 1))
            return Array(line.prefix(SendBundle.maximumJobs - 1))
        }
    }

    /// Has the next group written, if somebody waits; where many come at a time, it waits for more of them.
    private func passOn(_ app: AppID, wereMany: Bool) {
        let next = self.lines.withLockedValue { lines -> Waiting? in
            guard let line = lines[app], let first = line.first else {
                lines[app] = nil
                return nil
            }
            lines[app] = Array(line.dropFirst())
            return first
        }
        next?.continuation.resume(returning: .write(afterGathering: wereMany))
    }

    private func write(_ jobs: [NewJob]) async -> [Result<GroupAcceptance.Answer, any Error>] {
        do {
            let accepted = try await self.store.accept(together: jobs)
            CrashPoint.apiAccepted.reach()
            self.publisher.publish(accepted.bundles, and: accepted.singles)
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
