package import Logging
import Metrics
import NIOConcurrencyHelpers
package import NIOCore
package import PushModel
import PushlineMetrics
import ServiceLifecycle

/// Tells those who watch jobs of their changes; one loop reads the jobs for all of the process.
///
/// A watched job is read three times a second at most, however many watch it, once a second where the process has many
/// watchers, and less often while nothing changes.
package final class JobWatchers: Service {
    /// Makes the event that shows a job in one of its forms.
    package typealias Show = @Sendable (_ snapshot: JobMonitor.Snapshot, _ form: String) -> ByteBuffer

    /// How often jobs are read, and watchers asked who they are.
    struct Pace: Sendable {
        var look = Duration.milliseconds(333)
        /// The least time between two reads of a job where there are more than ``few`` watchers.
        var crowdedLook = Duration.seconds(1)
        var few = 50
        /// For how long a session, an account or a key that has ended may go on watching.
        var admission = Duration.seconds(2)
        var heartbeat = Duration.seconds(15)
    }

    private struct Key: Hashable {
        let job: JobID
        let form: String

        init(_ watcher: JobWatcher) { (self.job, self.form) = (watcher.job, watcher.form) }

        init(_ job: JobID, _ form: String) { (self.job, self.form) = (job, form) }
    }

    private struct Topic {
        var watchers: [ObjectIdentifier: JobWatcher] = [:]
        var snapshot: JobMonitor.Snapshot
        var event: ByteBuffer
        /// Twice as long after each read that has found no change.
        var pause: Duration
        var due: ContinuousClock.Instant
    }

    private struct State {
        var topics: [Key: Topic] = [:]
        var count = 0
    }

    /// The most jobs of one read.
    private static let readSize = 200
    /// How many times longer than usual the pause gets while nothing changes.
    private static let idle = 4

    private let monitor: JobMonitor
    private let show: Show
    private let pace: Pace
    private let logger: Logger
    private let state = NIOLockedValueBox(State())
    private let watching = MetricDescription.jobWatchers.meter()
    private let reads = MetricDescription.jobWatchReads.counter()

    /// - Parameters:
    ///   - monitor: Reads the jobs.
    ///   - logger: The logger of reads that fail.
    ///   - show: Makes their events.
    package convenience init(monitor: JobMonitor, logger: Logger, show: @escaping Show) {
        self.init(monitor: monitor, pace: Pace(), logger: logger, show: show)
    }

    init(monitor: JobMonitor, pace: Pace, logger: Logger, show: @escaping Show) {
        self.monitor = monitor
        self.show = show
        self.pace = pace
        self.logger = logger
    }

    /// The job as its watchers know it, or else as the monitor does; nil when the app has none of that id.
    package func snapshot(of id: JobID, app: AppID, form: String) async throws -> JobMonitor.Snapshot? {
        let key = Key(id, form)
        let known = self.state.withLockedValue { $0.topics[key]?.snapshot }
        if let known, known.job.app == app { return known }
        return try await self.monitor.snapshot(of: id, app: app)
    }

    /// Begins to tell the watcher of the job; ``leave(_:)`` must follow.
    ///
    /// - Parameters:
    ///   - watcher: The watcher.
    ///   - snapshot: The job as the watcher has seen it.
    package func enter(_ watcher: JobWatcher, seen snapshot: JobMonitor.Snapshot) {
        let key = Key(watcher)
        let event = self.show(snapshot, watcher.form)
        let current = self.state.withLockedValue { state in
            state.count += 1
            let (pause, now) = (self.pause(state.count), ContinuousClock.now)
            var topic =
                state.topics[key] ?? Topic(snapshot: snapshot, event: event, pause: pause, due: now + pause)
            topic.watchers[ObjectIdentifier(watcher)] = watcher
            state.topics[key] = topic
            return topic.event
        }
        self.watching.increment(by: 1)
        watcher.tell(current)
    }

    package func leave(_ watcher: JobWatcher) {
        let key = Key(watcher)
        self.state.withLockedValue { state in
            state.count -= 1
            state.topics[key]?.watchers[ObjectIdentifier(watcher)] = nil
            if state.topics[key]?.watchers.isEmpty == true { state.topics[key] = nil }
        }
        self.watching.decrement(by: 1)
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.regularly(self.pace.look) { await self.look() } }
                group.addTask { await self.regularly(self.pace.admission) { await self.admitAgain() } }
                group.addTask { await self.regularly(self.pace.heartbeat) { self.all.forEach { $0.beat() } } }
            }
        }
    }

    private func regularly(_ pause: Duration, _ work: () async -> Void) async {
        while !Task.isCancelled {
            do { try await Task.sleep(for: pause) } catch { return }
            await work()
        }
    }

    private var all: [JobWatcher] {
        self.state.withLockedValue { $0.topics.values.flatMap(\.watchers.values) }
    }

    private func pause(_ watchers: Int) -> Duration {
        watchers > self.pace.few ? self.pace.crowdedLook : self.pace.look
    }

    // MARK: Changes of jobs

    private func look() async {
        let now = ContinuousClock.now
        let due = self.state.withLockedValue { state in
            state.topics.filter { $0.value.due <= now }.map(\.key)
        }
        // A job that is asked for by two paths is read once.
        var rest = Array(Set(due.map(\.job)))[...]
        while !rest.isEmpty, !Task.isCancelled {
            let piece = Array(rest.prefix(Self.readSize))
            rest = rest.dropFirst(piece.count)
            self.reads.increment()
            do {
                let seen = Dictionary(
                    try await self.monitor.snapshots(of: piece).map { ($0.job.id, $0) },
                    uniquingKeysWith: { $1 }
                )
                let read = Set(piece)
                for key in due where read.contains(key.job) { self.publish(seen[key.job], to: key) }
            } catch {
                // They are told as soon as it can be read again; their connections stay.
                self.logger.debug("Reading watched jobs failed", metadata: ["error": "\(error)"])
            }
        }
    }

    /// - Parameters:
    ///   - snapshot: The job; nil = it has been removed, and whoever asks again is told so.
    ///   - key: Who is told.
    private func publish(_ snapshot: JobMonitor.Snapshot?, to key: Key) {
        let event = snapshot.map { self.show($0, key.form) }
        let told: (watchers: [JobWatcher], isChanged: Bool) = self.state.withLockedValue { state in
            guard var topic = state.topics[key] else { return ([], false) }
            let isChanged = event != nil && event != topic.event
            let usual = self.pause(state.count)
            topic.pause = isChanged ? usual : min(topic.pause * 2, usual * Self.idle)
            topic.due = .now + topic.pause
            if let snapshot, let event { (topic.snapshot, topic.event) = (snapshot, event) }
            state.topics[key] = topic
            return (Array(topic.watchers.values), isChanged)
        }
        // One buffer for all of them.
        if let event, told.isChanged {
            for watcher in told.watchers { watcher.tell(event) }
        }
        if snapshot?.job.state.isFinal ?? true { for watcher in told.watchers { watcher.end() } }
    }

    // MARK: Who may watch

    /// What lets a watcher in: one look for all who come with it.
    private struct Credential: Hashable {
        let app: AppID
        let text: [String]
    }

    private func admitAgain() async {
        let groups = Dictionary(grouping: self.all) { watcher in
            Credential(app: watcher.caller.app, text: watcher.admission.credential)
        }
        for watchers in groups.values {
            guard let first = watchers.first, !Task.isCancelled else { return }
            do {
                guard let caller = try await first.admission.again() else {
                    for watcher in watchers { watcher.end() }
                    continue
                }
                for watcher in watchers {
                    let key = Key(watcher)
                    let job = self.state.withLockedValue { $0.topics[key]?.snapshot.job }
                    // The role may be another by now.
                    if let job, !caller.maySee(job) { watcher.end() }
                }
            } catch {
                // Nothing is known: nor can the job be read, or whoever asks too often asks again.
                self.logger.debug("Admitting watchers of jobs again failed", metadata: ["error": "\(error)"])
            }
        }
    }
}
