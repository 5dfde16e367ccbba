package import Broker
import NIOConcurrencyHelpers
package import PushModel

/// Reports the progress and rate of running jobs at a bounded cost.
///
/// A running job is read at most once per ``lifetime`` for those who ask. The rate is the average of the last seconds; for the first
/// read, of the time since the job started.
package final class JobMonitor: Sendable {
    /// A job as it was read.
    package struct Snapshot: Sendable {
        package let job: Job
        /// Its devices a second at each service, while it runs.
        package var rates: [PushService: Double]?
        /// Why its message waits at the broker, if it does.
        package var blockedReason: String?
    }

    private struct Sample {
        let at: ContinuousClock.Instant
        /// Devices with an outcome.
        let counts: [PushService: Int]
    }

    private struct Entry {
        var snapshot: Snapshot
        let readAt: ContinuousClock.Instant
        var samples: [Sample]
    }

    private let broker: any MessageBroker
    private let read: @Sendable ([JobID]) async throws -> [Job]
    private let entries = NIOLockedValueBox<[JobID: Entry]>([:])

    private static let lifetime = Duration.milliseconds(50)
    /// Over how long the rate is taken.
    private static let span = Duration.seconds(5)
    /// A rate over less time would say little.
    private static let shortestSpan = Duration.milliseconds(250)
    private static let capacity = 1000

    /// - Parameters:
    ///   - broker: The broker that jobs are published to.
    ///   - read: Reads jobs from the store; unknown ones are missing.
    package init(broker: any MessageBroker, read: @escaping @Sendable ([JobID]) async throws -> [Job]) {
        self.broker = broker
        self.read = read
    }

    /// The job, at most ``lifetime`` old while it runs; nil when the app has none of that id.
    package func snapshot(of id: JobID, app: AppID) async throws -> Snapshot? {
        let known = self.entries.withLockedValue { $0[id] }
        if let known, known.snapshot.job.app == app, known.readAt.duration(to: .now) < Self.lifetime {
            return known.snapshot
        }
        guard let seen = try await self.snapshots(of: [id]).first, seen.job.app == app else { return nil }
        return seen
    }

    /// Jobs of any app as they are now; unknown ones are missing.
    func snapshots(of ids: [JobID]) async throws -> [Snapshot] {
        await self.snapshots(noting: try await self.read(ids))
    }

    /// Jobs as somebody has just read them.
    package func snapshots(noting jobs: [Job]) async -> [Snapshot] {
        let isBlockable = jobs.contains { $0.state == .queued }
        let blockedReason = isBlockable ? await self.broker.status.blockedReason : nil
        return jobs.map { job in
            if job.work.kind == .send, job.state == .running { return self.note(job) }
            self.forget(job.id)
            return Snapshot(job: job, blockedReason: job.state == .queued ? blockedReason : nil)
        }
    }

    /// The job was changed: the next look reads it.
    package func forget(_ id: JobID) { self.entries.withLockedValue { _ = $0.removeValue(forKey: id) } }

    private func note(_ job: Job) -> Snapshot {
        let now = ContinuousClock.now
        let counts = job.counts.mapValues(\.accounted)
        return self.entries.withLockedValue { entries in
            if entries.count >= Self.capacity, entries[job.id] == nil {
                entries = entries.filter { $0.value.samples.last.map { $0.at.duration(to: now) < Self.span } ?? false }
                if entries.count >= Self.capacity { entries.removeAll() }
            }
            var samples = entries[job.id]?.samples ?? []
            let sample = Sample(at: now, counts: counts)
            let snapshot = Snapshot(job: job, rates: Self.rates(samples.first ?? sample, sample, of: job))
            if samples.last.map({ $0.at.duration(to: now) >= Self.shortestSpan }) ?? true { samples.append(sample) }
            // The youngest that is old enough, and all after it.
            while samples.count > 2, samples[1].at.duration(to: now) >= Self.span { samples.removeFirst() }
            entries[job.id] = Entry(snapshot: snapshot, readAt: now, samples: samples)
            return snapshot
        }
    }

    private static func rates(_ first: Sample, _ last: Sample, of job: Job) -> [PushService: Double]? {
        let time = first.at.duration(to: last.at)
        if time >= Self.shortestSpan {
            var rates: [PushService: Double] = [:]
            for (pns, count) in last.counts {
                rates[pns] = max(0, Double(count - first.counts[pns, default: 0]) / time.inSeconds)
            }
            return rates
        }
        // By the wall clock, for there is no other of that time.
        guard let started = job.started else { return nil }
        let whole = started.duration(to: .now)
        return whole >= Self.shortestSpan ? last.counts.mapValues { Double($0) / whole.inSeconds } : nil
    }
}
