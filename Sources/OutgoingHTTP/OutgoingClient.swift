package import AsyncHTTPClient
import NIOConcurrencyHelpers
package import NIOCore
package import NIOHTTP1
package import NIOSSL

/// A request to a server that we do not run.
package struct OutgoingRequest: Sendable {
    package let method: HTTPMethod
    package let url: String
    package var headers: HTTPHeaders
    package var body: ByteBuffer?
    /// Instead of the client's own.
    package var tls: TLSConfiguration?
    /// More of an answer's body than this is not read.
    package let longestAnswer: Int

    package init(
        _ method: HTTPMethod = .GET,
        _ url: String,
        headers: HTTPHeaders = [:],
        body: ByteBuffer? = nil,
        longestAnswer: Int
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.longestAnswer = longestAnswer
    }
}

/// The answer to a request: its head, and as much of its body as came.
package struct OutgoingAnswer: Sendable {
    package enum Body: Sendable, Equatable {
        case whole(ByteBuffer)
        /// More than ``OutgoingRequest/longestAnswer``.
        case tooLong
        /// It stopped or broke off: why, behind "the answer's body".
        case cut(String)
    }

    package let status: Int
    package let headers: HTTPHeaders
    package let body: Body
}

/// Why a request has no answer.
package struct NoAnswer: Error, Sendable, Equatable, CustomStringConvertible {
    /// Whether nothing of it was sent: then nobody has taken it.
    package let isBeforeSending: Bool
    /// Whether its deadline came, rather than a fault.
    package let isStop: Bool
    /// Without a word of the request.
    package let description: String
}

/// The connections to servers that we do not run, over async-http-client.
///
/// ``exchange(_:by:with:)`` is the only way to make a request: it has one deadline, from before the name look-up until the last byte
/// of the answer, and returns by then whatever the library does.
package final class OutgoingClient: Sendable {
    private struct State {
        var http: HTTPClient
        var isClosed = false
    }

    /// How long connections may take to close.
    private static let closingTime = Duration.milliseconds(250)
    /// After this, what does not end is the library's fault, and its connections are given up.
    private static let patience = Duration.seconds(5)

    private let make: @Sendable () -> HTTPClient
    private let renewsWhenStopped: Bool
    private let watch: DeadlineWatch
    private let state: NIOLockedValueBox<State>

    /// - Parameters:
    ///   - renewsWhenStopped: Whether a request that stops costs all connections: one of HTTP/2 is not closed with its request.
    ///   - watch: Ends what the library does not end.
    ///   - make: Makes the library's client, which this one owns.
    package init(
        renewsWhenStopped: Bool = false,
        watch: DeadlineWatch = .shared,
        make: @escaping @Sendable () -> HTTPClient
    ) {
        self.make = make
        self.renewsWhenStopped = renewsWhenStopped
        self.watch = watch
        self.state = NIOLockedValueBox(State(http: make()))
    }

    /// Closes the connections of a client that nobody has any more: the library must not be let go of open.
    deinit {
        let state = self.state.withLockedValue { $0 }
        if !state.isClosed { Task.detached { await Self.shutDown(state.http) } }
    }

    /// Makes a request.
    ///
    /// A body that stops, breaks off or is too long ends the connection, and the answer is there without it.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - deadline: When it has returned, but for some 300 ms.
    ///   - peer: Where it is noted if it comes to its deadline.
    /// - Returns: The answer.
    /// - Throws: ``NoAnswer``.
    package func exchange(
        _ request: OutgoingRequest,
        by deadline: ContinuousClock.Instant,
        with peer: Peer
    ) async throws(NoAnswer) -> OutgoingAnswer {
        let http = self.state.withLockedValue { $0.isClosed ? nil : $0.http }
        guard let http else {
            throw NoAnswer(isBeforeSending: true, isStop: false, description: "the client is closed")
        }
        let exchange = Exchange(atMost: request.longestAnswer)
        let end = await exchange.run(request, over: http, by: deadline, self.watch)
        if let stage = end.stopped {
            peer.stopped(at: request.host, stage)
            if self.renewsWhenStopped { self.renew(http) }
        }
        if end.isAbandoned {
            // Its connection is closed with the client, if the library is not merely late.
            _ = self.watch.add(.now + Self.patience) { if !exchange.isEnded { self.renew(http) } }
        }
        return try end.answer()
    }

    /// Closes the connections; nothing may be asked afterwards.
    package func close() async {
        let http = self.state.withLockedValue { state in
            defer { state.isClosed = true }
            return state.isClosed ? nil : state.http
        }
        guard let http else { return }
        // The library waits for connections that are being made.
        await self.watch.run(until: .now + Self.closingTime, grace: .zero) { await Self.shutDown(http) }
    }

    /// Has later requests go over new connections, and closes those of this client.
    private func renew(_ stale: HTTPClient) {
        let isStale = self.state.withLockedValue { state in
            guard !state.isClosed, state.http === stale else { return false }
            state.http = self.make()
            return true
        }
        if isStale { Task.detached { await Self.shutDown(stale) } }
    }

    private static func shutDown(_ http: HTTPClient) async {
        // Fails only when it was closed before.
        try? await http.shutdown()
    }
}

extension OutgoingRequest {
    /// The host, for the log.
    fileprivate var host: String {
        let rest = self.url.split(separator: "://", maxSplits: 1).last ?? ""
        return String(rest.prefix { $0 != "/" && $0 != "?" })
    }
}
