import HTTPTypes
package import Hummingbird
import NIOCore
import PushModel
import Settings

/// Reads bodies within their limits of size and time.
package struct BodyReader: Sendable {
    /// A body that was read.
    package struct Body: Sendable {
        package var bytes: [UInt8] = []
        /// Of a body beyond the usual limit: kept until the request is answered.
        package var permit: FairPermits.Permit?
        /// What was not read, where the route reads it itself.
        package var stream: RequestBody

        package init(stream: RequestBody = RequestBody(buffer: ByteBuffer())) { self.stream = stream }
    }

    let limits: ServingLimits
    let large: LargeBodies
    /// Bodies being read, limited separately from requests in progress: a slow body blocks no other work.
    private let reading: FairPermits
    private let timeouts: RequestTimeouts

    init(limits: ServingLimits, large: LargeBodies) {
        self.limits = limits
        self.large = large
        self.reading = FairPermits(limits.settings.inFlight)
        self.timeouts = RequestTimeouts(limit: limits.settings.requestTime)
    }

    /// - Parameters:
    ///   - request: The request.
    ///   - kind: The kind of body the route accepts.
    ///   - caller: The sender.
    ///   - connection: Asks for a body, and ends an overdue one.
    /// - Returns: The body, inflated.
    /// - Throws: ``Problem``: 413 for a body that is too large, 415 for one that is coded in another way, 408 for an overdue one, 400
    ///   for one that breaks off, 503 while too many are read or too many large ones kept; `CancellationError` when the server shuts down.
    func read(
        _ request: Request,
        kind: BodyKind,
        caller: Caller,
        connection: BodyConnection
    ) async throws -> Body {
        if case .none = kind { return Body() }
        let coding = try ContentCoding(request.headers)
        let stream = IncomingBody.open(request, coding: coding, connection: connection)
        let limit: Int
        switch kind {
        case .none, .stream: return Body(stream: stream)
        case .limited: limit = self.limits.settings.bodySize
        case .send: limit = self.limits.settings.sendSize
        case .upTo(let most): limit = most
        case .upload: limit = self.limits.settings.contentSize
        }
        var length = request.headers.text(of: .contentLength).flatMap(Int.init)
        if let length, length > limit { throw Self.tooLarge(limit) }
        // How much comes out of gzip nobody has said, but how much may.
        let most = coding == .identity ? limit : min(limit, length.map(IncomingBody.most) ?? limit)
        if coding != .identity { length = nil }
        guard self.reading.take(for: caller) else {
            throw Problem.later(.serviceUnavailable, "too many request bodies are being read", seconds: 1)
        }
        defer { self.reading.release(of: caller) }
        let cost =
            switch kind {
            case .send, .upTo: LargeBodies.ofSend
            case .none, .limited, .upload, .stream: 1
            }
        var body = Body()
        if let length, length > self.limits.settings.bodySize {
            body.permit = try self.large.permit(length * cost, for: caller)
            // The final size: growing would copy the bytes again and again.
            body.bytes.reserveCapacity(length)
        }
        do {
            try await self.timeouts.run(
                { id in
                    try await self.collect(stream, coding, upTo: limit, into: &body, deadline: id) {
                        try self.large.permit(most * cost, for: caller)
                    }
                },
                end: connection.end
            )
            return body
        } catch is RequestTimeouts.Overdue {
            let (time, rate) = (
                self.limits.settings.requestTime.inSeconds, self.limits.largeBodyRate >> 10
            )
            throw Problem(
                .requestTimeout,
                "the body did not arrive within \(time) s; one beyond \(self.limits.settings.bodySize) bytes gets one more "
                    + "second for every \(rate) KiB received"
            )
        } catch let problem as Problem {
            throw problem
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            // After malformed chunks or a wrong length the end never comes, and ``EarlyResponseHandler`` closes the
            // connection.
            throw Self.brokenOff
        }
    }

    /// Reads a body; beyond the usual limit it needs a permit, and its deadline moves with the bytes received.
    private func collect(
        _ stream: RequestBody,
        _ coding: ContentCoding,
        upTo limit: Int,
        into body: inout Body,
        deadline: Int,
        permit: () throws -> FairPermits.Permit
    ) async throws {
        // What inflates costs its sender next to nothing: it takes a permit early, and earns less time.
        let usual = coding == .identity ? self.limits.settings.bodySize : Self.inflatedWithoutPermit
        let rate = self.limits.largeBodyRate * (coding == .identity ? 1 : IncomingBody.ratio)
        for try await piece in stream {
            let size = body.bytes.count + piece.readableBytes
            guard size <= limit else { throw Self.tooLarge(limit) }
            if size > usual, body.permit == nil { body.permit = try permit() }
            if body.permit != nil {
                let seconds = Double(piece.readableBytes) / Double(rate)
                self.timeouts.extend(deadline, by: .seconds(seconds))
            }
            body.bytes.append(contentsOf: piece.readableBytesView)
        }
    }

    /// The most bytes of a compressed body that are inflated without a permit.
    private static let inflatedWithoutPermit = 64 << 10

    package static let brokenOff = Problem(.badRequest, "the body ended early or is not valid HTTP")

    private static func tooLarge(_ limit: Int) -> Problem {
        Problem(.contentTooLarge, "the body has more than \(limit) bytes, the most that is taken here")
    }
}
