import HTTPTypes
import Hummingbird
import NIOCore
import PushModel
import PushlineLogging
import ServiceLifecycle

/// A job's changes as server-sent events (HTML Standard, 9.2), for pages that show it.
///
/// They are states and no log: whoever connects is told the present one, so events have no ids and `Last-Event-ID` means nothing.
struct JobEventRoute: Sendable {
    let watchers: JobWatchers
    private let permits: FairPermits

    init(watchers: JobWatchers, most: Int) {
        self.watchers = watchers
        self.permits = FairPermits(most)
    }

    var routes: [Route] { [Route(.get, "/api/jobs/{id}/events", handler: self.events)] }

    private func events(_ request: APIRequest) async throws -> Response {
        _ = try request.query.strict(known: [])
        let (caller, id) = (try request.caller, try JobRoutes.id(request))
        guard let permit = self.permits.permit(for: caller) else {
            throw Problem.later(.serviceUnavailable, "too many watch jobs already", seconds: 10)
        }
        let seen = try await self.watchers.snapshot(of: id, app: request.app, prefix: request.prefix)
        guard let seen, caller.maySee(seen.job) else { throw JobRoutes.missing }
        LogContext.add(job: id)
        guard !seen.job.state.isFinal else {
            let event = JobWatcher.event(seen.text(prefix: request.prefix).bytes)
            return Response(status: .ok, headers: Self.headers, body: ResponseBody(byteBuffer: event))
        }
        let watcher = JobWatcher(of: id, prefix: request.prefix, request: request.head, caller: caller)
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
                try await watcher.write { try await unsafe writing.write($0) }
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: Self.headers, body: body)
    }

    private static let headers: HTTPFields = [
        .contentType: "text/event-stream", .cacheControl: "no-store, no-transform",
        // Asks nginx, which would collect events otherwise, to hand them on.
        .accelBuffering: "no",
    ]

    /// When a browser comes again after its connection was cut, in milliseconds: some wait 5 s by themselves.
    private static let retry = ByteBuffer(string: "retry: 2000\n\n")
}
