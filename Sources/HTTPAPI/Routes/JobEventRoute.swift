import HTTPTypes
import Hummingbird
import Intake
import NIOCore
import PushModel
import PushlineLogging
import ServiceLifecycle
import WebServing

/// A job's changes as server-sent events (HTML Standard, 9.2), for pages that show it.
///
/// They are states and no log: whoever connects is told the present one, so events have no ids and `Last-Event-ID` means nothing.
struct JobEventRoute: Sendable {
    /// Finds out again who asks.
    ///
    /// - Throws: ``Problem`` where the request would be refused by now; other errors where that cannot be known.
    typealias Admit = @Sendable (_ request: HTTPRequest, _ app: AppID) async throws -> Caller

    private let watchers: JobWatchers
    private let admit: Admit
    private let permits: FairPermits

    init(watchers: JobWatchers, most: Int, admit: @escaping Admit) {
        self.watchers = watchers
        self.admit = admit
        self.permits = FairPermits(most)
    }

    var routes: [Route] { [Route(.get, "/api/jobs/{id}/events", handler: self.events)] }

    private func events(_ request: APIRequest) async throws -> Response {
        _ = try request.query.strict(known: [])
        let (caller, id) = (try request.caller, try JobRoutes.id(request))
        guard let permit = self.permits.permit(for: caller) else {
            throw Problem.later(.serviceUnavailable, "too many watch jobs already", seconds: 10)
        }
        let seen = try await self.watchers.snapshot(of: id, app: request.app, form: request.prefix)
        guard let seen, caller.maySee(seen.job) else { throw JobRoutes.missing }
        LogContext.add(job: id)
        guard !seen.job.state.isFinal else {
            let event = Self.event(seen, prefix: request.prefix)
            return Response(status: .ok, headers: Self.headers, body: ResponseBody(byteBuffer: event))
        }
        let watcher = JobWatcher(of: id, form: request.prefix, caller: caller, admission: self.admission(request))
        let watchers = self.watchers
        let body = ResponseBody { writer in
            defer { withExtendedLifetime(permit) {} }
            watchers.enter(watcher, seen: seen)
            defer { watchers.leave(watcher) }
            // Only the child task writes, and it has ended when the wait does.
            nonisolated(unsafe) var writing = writer
            // The client comes again, and to another process: waiting for the job would hold up the drain.
            try await cancelWhenGracefulShutdown {
                try await unsafe writing.write(Self.retry)
                try await watcher.write { try await unsafe writing.write($0 ?? Self.heartbeat) }
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: Self.headers, body: body)
    }

    private func admission(_ request: APIRequest) -> JobWatcher.Admission {
        let (head, app, admit) = (request.head, request.app, self.admit)
        // What a request says of its sender.
        let credential = [HTTPField.Name.authorization, .cookie].map { head.headerFields.text(of: $0) ?? "" }
        return JobWatcher.Admission(credential) {
            do { return try await admit(head, app) } catch let problem as Problem
                where problem.status.kind == .clientError
            {
                return nil
            }
        }
    }

    /// An event of the type `job` (HTML Standard, 9.2.5), with the links of that prefix.
    static func event(_ snapshot: JobMonitor.Snapshot, prefix: String) -> ByteBuffer {
        let text = snapshot.text(prefix: prefix).bytes
        var event = ByteBuffer()
        event.reserveCapacity(text.count + 20)
        event.writeString("event: job\ndata: ")
        // JSON in one line.
        event.writeBytes(text)
        event.writeString("\n\n")
        return event
    }

    private static let heartbeat = ByteBuffer(string: ":\n\n")

    private static let headers: HTTPFields = [
        .contentType: "text/event-stream", .cacheControl: "no-store, no-transform",
        // Asks nginx, which would collect events otherwise, to hand them on.
        .accelBuffering: "no",
    ]

    /// When a browser comes again after its connection was cut, in milliseconds: some wait 5 s by themselves.
    private static let retry = ByteBuffer(string: "retry: 2000\n\n")
}
