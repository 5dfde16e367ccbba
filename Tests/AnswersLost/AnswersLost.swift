package import HTTPTypes
package import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import PushModel
import PushlineTracing
import RawHTTP
import ServiceLifecycle
import Store
package import WebServing

/// A front that does what it is asked for, and whose store has lost the answer then.
package struct AnswersLost<Front: WebFront>: WebFront {
    private let front: Front

    package init(_ front: Front) { self.front = front }

    package func answer(_ request: Request, _ exchange: WebExchange) async throws -> Response {
        _ = try await self.front.answer(request, exchange)
        throw StoreError(.unknown, "the connection was lost")
    }

    package func refusal(_ problem: Problem, of request: Request, _ exchange: WebExchange) -> Response? {
        self.front.refusal(problem, of: request, exchange)
    }

    package func hasKey(_ request: Request) -> Bool { self.front.hasKey(request) }

    package func complete(_ response: inout Response, of request: Request, _ exchange: WebExchange) {
        self.front.complete(&response, of: request, exchange)
    }

    /// Serves it as programs do, as long as the body runs.
    package func serve(_ body: (LostServer) async throws -> Void) async throws {
        var logger = Logger(label: "test.lost")
        logger.logLevel = .critical
        let responder = WebResponder(self, proxies: .none, accessLog: false, traces: .off, logger: logger)
        let (ports, continuation) = AsyncStream<Int>.makeStream()
        let listener = HTTPListener(
            child: HTTP1Channel(
                responder: HTTPListener<HTTP1Channel>.answer(with: responder, logger: logger),
                configuration: HTTP1Channel.Configuration(additionalChannelHandlers: [EarlyResponseHandler()])
            ),
            host: "127.0.0.1",
            ports: [0],
            keys: "host, port",
            logger: logger,
            onServing: { continuation.yield($0?.port ?? 0) }
        )
        let group = ServiceGroup(services: [listener], logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                defer { continuation.finish() }
                try await group.run()
            }
            guard let port = await ports.first(where: { _ in true }) else { return try await tasks.waitForAll() }
            try await body(LostServer(port: port))
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }
}

/// A server whose store has lost each answer.
package struct LostServer: Sendable {
    fileprivate let port: Int

    /// Makes a request on a connection of its own, which it would keep.
    ///
    /// - Returns: The bytes of the answer; none where the server has closed the connection.
    /// - Throws: What keeps the connection from being made, or breaks it.
    package func bytes(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ headers: [String: String],
        body: String = ""
    ) async throws -> String {
        var connection = try await RawConnection.open(port: self.port)
        defer { connection.close() }
        let lines = headers.map { "\($0): \($1)\r\n" }.joined()
        let head = "\(method.rawValue) \(path) HTTP/1.1\r\n\(lines)Content-Length: \(body.utf8.count)\r\n\r\n"
        do { return try await connection.exchange(head + body) } catch let broken as RawConnection.BrokenOff {
            return broken.text
        }
    }
}
