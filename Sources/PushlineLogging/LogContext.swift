package import Logging
import NIOConcurrencyHelpers
package import PushModel

/// What lines of the log are about: the request that a server answers, or the message of a queue that a worker works on, and their jobs
/// with the requests that asked for them.
///
/// It is the task's and of the tasks that it starts. The handler asks for it with each line that is written, so that no call has to
/// give it, and a line that is not written costs nothing.
package final class LogContext: Sendable {
    @TaskLocal package static var current: LogContext?

    private enum Work: Sendable {
        case request(id: String)
        case message(id: String, queue: String)
        case jobs
    }

    /// The most jobs that are named: as many as share a message.
    private static let mostJobs = OutboxMessage.maximumMembers

    private struct State {
        var jobs: [JobTrace]
        /// The request's, where that is recorded.
        var span: SpanContext?
    }

    private let work: Work
    private let state: NIOLockedValueBox<State>

    private init(_ work: Work, jobs: [JobTrace] = []) {
        self.work = work
        self.state = NIOLockedValueBox(State(jobs: jobs))
    }

    /// - Parameter request: The request's id.
    package convenience init(request: String) { self.init(.request(id: request)) }

    /// - Parameters:
    ///   - message: The message's id.
    ///   - queue: The queue that it came from.
    package convenience init(message: String, of queue: String) { self.init(.message(id: message, queue: queue)) }

    /// - Parameter jobs: What the work is about, where neither a request nor a message brought it.
    package convenience init(jobs: [JobTrace]) { self.init(.jobs, jobs: jobs) }

    /// The request that the task answers, for the jobs that it makes.
    package static var request: RequestID? {
        guard let current, case .request(let id) = current.work else { return nil }
        return RequestID(id, span: current.state.withLockedValue(\.span))
    }

    /// Says that the request is recorded, for its jobs and for the lines from here on.
    package static func set(span: SpanContext) { Self.current?.state.withLockedValue { $0.span = span } }

    /// Says what jobs the lines from here on are about; those before are forgotten.
    package static func set(jobs: @autoclosure () -> [JobTrace]) {
        guard let context = Self.current else { return }
        let jobs = jobs()
        context.state.withLockedValue { $0.jobs = jobs }
    }

    /// Says that the lines from here on are about a job too.
    package static func add(job: JobID) {
        // One more than are named, which says that there are more.
        Self.current?.state.withLockedValue { if $0.jobs.count <= Self.mostJobs { $0.jobs.append(JobTrace(job)) } }
    }

    /// The value of `job.id` for several jobs, of `request.id` and of `trace_id`: the ids with commas between them, each once.
    package static func text<ID: Hashable & CustomStringConvertible>(_ all: some Sequence<ID>) -> String {
        var known: Set<ID> = []
        let ids = all.filter { known.insert($0).inserted }
        let text = ids.prefix(Self.mostJobs).map(\.description).joined(separator: ",")
        return ids.count > Self.mostJobs ? text + ",…" : text
    }

    /// The fields of a line.
    package var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = [:]
        let (jobs, span) = self.state.withLockedValue { ($0.jobs, $0.span) }
        if !jobs.isEmpty { metadata["job.id"] = "\(Self.text(jobs.lazy.map(\.job)))" }
        let requests = jobs.compactMap(\.request)
        if !requests.isEmpty { metadata["request.id"] = "\(Self.text(requests))" }
        var traces = requests.compactMap(\.span?.trace)
        switch self.work {
        case .request(let id):
            metadata["request.id"] = "\(id)"
            traces = span.map { [$0.trace] } ?? []
        case .message(let id, let queue):
            metadata["message.id"] = "\(id)"
            metadata["queue"] = "\(queue)"
        case .jobs: break
        }
        if !traces.isEmpty { metadata["trace_id"] = "\(Self.text(traces))" }
        return metadata
    }

    /// For handlers: the fields of the task's context.
    package static let provider = Logger.MetadataProvider { LogContext.current?.metadata ?? [:] }
}
