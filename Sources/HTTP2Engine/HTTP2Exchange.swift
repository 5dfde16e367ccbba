/// Requests to one origin that are sent together.
///
/// Common parts are given once; differing parts are written by closures into reused buffers, so that a request
/// allocates no memory.
package struct HTTP2Exchange: Sendable {
    /// The bodies of the requests.
    package enum Body: Sendable {
        case shared([UInt8])
        /// Appends the body of the request with that index to an empty buffer; called on the event loop.
        case each(@Sendable (Int, inout [UInt8]) -> Void)
    }

    package var count: Int
    package var headers: HTTP2HeaderBlock
    package var body: Body
    /// Writes path and own headers of the request with that index; called on the event loop, and again for a repeat.
    package var describe: @Sendable (Int, inout HTTP2RequestHead) -> Void
    /// Names, in lower case, of headers to keep of answers other than 2xx; such answers' bodies are kept too.
    package var interestingHeaders: [String]
    /// After this nothing more is sent.
    package var sendBy: ContinuousClock.Instant
    /// How long an answer may take, from the moment its request is handed to the connection.
    package var requestTimeout: Duration
    /// Called often on the event loop: true withdraws unsent requests.
    package var isStopped: @Sendable () -> Bool

    package init(
        count: Int,
        headers: HTTP2HeaderBlock,
        body: Body,
        interestingHeaders: [String] = [],
        sendBy: ContinuousClock.Instant,
        requestTimeout: Duration,
        isStopped: @escaping @Sendable () -> Bool = { false },
        describe: @escaping @Sendable (Int, inout HTTP2RequestHead) -> Void
    ) {
        self.count = count
        self.headers = headers
        self.body = body
        self.describe = describe
        self.interestingHeaders = interestingHeaders
        self.sendBy = sendBy
        self.requestTimeout = requestTimeout
        self.isStopped = isStopped
    }
}

/// What came to its deadline.
package enum HTTP2Stop: Sendable {
    /// A connection that was not ready.
    case connect
    /// A request whose answer had no whole head.
    case head
    /// A request whose answer had no end.
    case body
}

/// The outcome of one request of an ``HTTP2Exchange``.
package enum HTTP2Outcome: Sendable, Equatable {
    case response(HTTP2Response)
    /// The peer did not process it: it may be sent again without fear of a duplicate.
    case notProcessed(NotProcessed)
    /// It left, and no answer came: the peer may have acted on it.
    case unanswered(Unanswered)

    /// Why a request was not processed.
    package enum NotProcessed: Sendable, Equatable {
        /// ``HTTP2Exchange/isStopped`` returned true, or the task was cancelled.
        case stopped
        /// ``HTTP2Exchange/sendBy`` came first, and not for want of a connection.
        case outOfTime
        /// No connection could be made; the last fault in words.
        case noConnection(String)
        /// The peer ended the handshake because of ``HTTP2Configuration/identity``; its alert.
        case identityRefused(String)
        /// Refused more often than the engine tries again (REFUSED_STREAM, or above the last stream of a GOAWAY).
        case refused(String)
        /// Its path or a header cannot be sent.
        case invalid
        /// The client is closed.
        case closed
    }

    /// Why an answer is missing.
    package enum Unanswered: Sendable, Equatable {
        case timeout
        /// The stream was reset, with that HTTP/2 error code.
        case reset(UInt32)
        /// The connection was lost; in words.
        case connectionLost(String)
    }
}

/// An answer; of a 2xx, nothing but the status is kept, so that it is one as soon as its head is there.
package struct HTTP2Response: Sendable, Equatable {
    package var status: Int
    /// The received headers among ``HTTP2Exchange/interestingHeaders``.
    package var headers: [HTTP2Field] = []
    /// Cut off at the configured size.
    package var body: [UInt8] = []

    package init(status: Int, headers: [HTTP2Field] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The value of a header that was kept.
    package subscript(_ name: String) -> String? { self.headers.first { $0.name == name }?.value }
}
