import Logging
import NIOCore

/// One connection: the session, its streams in slots, and their deadlines.
///
/// Sendable only so that NIO can hand it to the pipeline: everything is touched on the client's event loop.
final class HTTP2Connection: @unchecked Sendable {
    enum State: Equatable {
        /// Until the peer's SETTINGS have come.
        case connecting
        case ready
        /// Open streams may end, no new ones begin.
        case draining
        case closed
    }

    let client: HTTP2Client
    private(set) var state = State.connecting
    /// Requests that were handed to the session, and answers that came.
    private(set) var submitted = 0
    private(set) var answered = 0
    /// The GOAWAY's reason, where one came.
    private(set) var goAway: String?
    /// Why we end it.
    private(set) var goodbye: String?

    var context: ChannelHandlerContext?
    var session: HTTP2Session?
    private let slots: StreamSlots
    private var peerLimit = 1
    /// Since when it is being opened, or is there.
    let opened: NIODeadline
    private var readyBy: NIODeadline
    var lastRead: NIODeadline
    private var lastUsed: NIODeadline
    private var pingSent: NIODeadline?
    /// When the last answer came.
    private var lastAnswer = NIODeadline.uptimeNanoseconds(0)
    /// Whether it is drained because it has stopped answering.
    private var hasStopped = false

    init(client: HTTP2Client, now: NIODeadline) {
        self.client = client
        self.opened = now
        self.slots = StreamSlots(capacity: client.configuration.maximumStreams)
        self.readyBy = now + TimeAmount(rounding: client.configuration.connectTimeout)
        self.lastRead = now
        self.lastUsed = now
    }

    /// How many streams are open.
    var active: Int { self.slots.taken }

    /// How many more requests it takes now.
    var capacity: Int {
        guard self.state == .ready, self.context?.channel.isWritable == true else { return 0 }
        return max(0, min(self.peerLimit, self.client.configuration.maximumStreams) - self.active)
    }

    /// Opens a stream for a request.
    ///
    /// - Parameters:
    ///   - run: The batch that the request belongs to.
    ///   - index: The request's index.
    ///   - head: Receives the request's own headers; its buffers serve all requests.
    ///   - now: The current time.
    /// - Returns: nil when it is sent, otherwise its outcome or a request to send elsewhere.
    func submit(_ run: HTTP2Run, _ index: Int, _ head: inout HTTP2RequestHead, now: NIODeadline) -> Rejection? {
        guard let session = self.session else { return .elsewhere("the connection is closed") }
        head.reset()
        run.batch.describe(index, &head)
        guard head.isValid, head.pathLength > 0 else { return .invalid }
        guard let slot = self.slots.take() else { return .elsewhere("the connection has no room") }
        let hasBody: Bool
        switch run.batch.body {
        case .shared(let bytes): hasBody = !bytes.isEmpty
        case .each(let write):
            write(index, &self.slots[slot].requestBody)
            hasBody = !self.slots[slot].requestBody.isEmpty
        }
        guard let stream = session.submit(run.batch.headers, head, hasBody: hasBody, slot: slot) else {
            self.slots.release(slot)
            self.drain()
            return .elsewhere("no stream ids are left")
        }
        self.slots[slot].stream = stream
        self.slots[slot].run = run
        self.slots[slot].retained = run
        self.slots[slot].index = index
        self.slots[slot].isBodySent = !hasBody
        self.slots[slot].expires = now + run.requestTimeout
        if self.active == 1 { self.lastRead = now }
        self.lastUsed = now
        self.submitted += 1
        if self.submitted >= self.client.configuration.maximumRequestsPerConnection { self.drain() }
        return nil
    }

    enum Rejection {
        case invalid
        case elsewhere(String)
    }

    /// Opens no more streams, and closes when the last one has ended.
    func drain() {
        if self.state == .ready { self.state = .draining }
    }

    /// Checks deadlines: the set-up, requests without an answer, PINGs, idleness.
    func check(now: NIODeadline) {
        let configuration = self.client.configuration
        switch self.state {
        case .connecting:
            if now >= self.readyBy { self.fail("it was not ready within \(configuration.connectTimeout)", at: now) }
            return
        case .closed: return
        case .ready, .draining: break
        }
        for slot in self.slots.indices where self.slots[slot].expires <= now { self.expire(slot) }
        if self.active == 0 {
            let isIdle = now - self.lastUsed >= TimeAmount(rounding: configuration.idleTimeout)
            if isIdle || self.state == .draining { return self.shutDown(isIdle ? "it was idle" : self.drained) }
        }
        let pingAfter = self.active > 0 ? configuration.pingAfter : configuration.idlePingAfter
        if let pingSent = self.pingSent {
            if now - pingSent >= TimeAmount(rounding: configuration.pingTimeout) {
                for slot in self.slots.indices where self.slots[slot].run != nil { self.stopped(slot) }
                return self.fail("it gave no sign of life")
            }
        } else if now - self.lastRead >= TimeAmount(rounding: pingAfter) {
            self.pingSent = now
            self.withSession { session throws(HTTP2SessionFault) in try session.ping() }
        }
        self.flush()
    }

    /// Gives up a request whose answer was not whole in time, and its stream.
    private func expire(_ slot: Int) {
        let expires = self.slots[slot].expires
        self.slots[slot].expires = .distantFuture
        guard let run = self.slots[slot].run else { return }
        // Not one answer since it was sent: others would stop there too.
        if self.lastAnswer < expires - run.requestTimeout {
            self.hasStopped = true
            self.drain()
        }
        self.stopped(slot)
        let answer = self.answer(slot)
        if answer != nil { self.answered += 1 }
        self.slots[slot].run = nil
        let stream = self.slots[slot].stream
        self.withSession { session throws(HTTP2SessionFault) in try session.reset(stream) }
        self.client.finished(run, self.slots[slot].index, answer.map { .response($0) } ?? .unanswered(.timeout))
    }

    private func stopped(_ slot: Int) { self.client.stopped(self.slots[slot].hasHead ? .body : .head) }

    /// Why it closes when it was drained.
    var drained: String { self.hasStopped ? "it stopped answering" : "it was drained" }

    /// The answer of a stream, if it is known: of a 2xx by its head, of others when they are whole.
    private func answer(_ slot: Int) -> HTTP2Response? {
        let isAccepted = self.slots[slot].hasHead && (200..<300).contains(self.slots[slot].status)
        guard isAccepted || self.slots[slot].isComplete && self.slots[slot].status >= 200 else { return nil }
        return HTTP2Response(
            status: self.slots[slot].status,
            headers: self.slots[slot].headers,
            body: self.slots[slot].body
        )
    }

    // MARK: The end

    /// Closes a connection that could not be made; where its time was over it has stopped.
    func fail(_ reason: String, at now: NIODeadline) {
        if self.state == .connecting, now >= self.readyBy { self.client.stopped(.connect) }
        self.fail(reason)
    }

    /// Closes a failed connection; its open requests end without an answer.
    func fail(_ reason: String) {
        guard self.state != .closed else { return }
        let wasReady = self.state != .connecting
        self.state = .closed
        let reason = self.goAway.map { "\($0); \(reason)" } ?? reason
        // In TLS 1.3 the peer looks at our certificate after we have sent: it has processed nothing.
        let refusal = self.answered == 0 ? self.client.configuration.refusal(in: reason) : nil
        let lost = refusal.map { HTTP2Outcome.notProcessed(.identityRefused($0)) }
        for slot in self.slots.indices {
            guard let run = self.slots[slot].run else { continue }
            let answer = self.answer(slot)
            self.slots[slot].run = nil
            let outcome = answer.map { .response($0) } ?? lost ?? .unanswered(.connectionLost(reason))
            self.client.finished(run, self.slots[slot].index, outcome)
        }
        self.context?.close(promise: nil)
        self.context = nil
        self.client.closed(self, reason: reason, wasReady: wasReady)
    }

    /// Sends GOAWAY and closes.
    func shutDown(_ reason: String) {
        self.goodbye = reason
        if let session = self.session {
            // A session that cannot send GOAWAY is closed without it.
            try? session.terminate()
            self.flush()
        }
        self.fail(reason)
    }

    func withSession(_ body: (HTTP2Session) throws(HTTP2SessionFault) -> Void) {
        guard let session = self.session else { return }
        do { try body(session) } catch { self.fail("HTTP/2: \(error.message)") }
    }
}

// MARK: Events of the session

extension HTTP2Connection: HTTP2SessionDelegate {
    func receivedSettings(maximumStreams: Int) {
        self.peerLimit = maximumStreams
        if self.state == .connecting {
            self.state = .ready
            self.client.becameReady(self)
        }
    }

    func received(header name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>, slot: Int, stream: Int32)
    {
        guard let run = self.slots[slot].run, self.slots[slot].stream == stream else { return }
        if unsafe name.first == UInt8(ascii: ":") {
            // A block of informational headers (1xx) may come first.
            self.slots[slot].status = unsafe value.prefix(3).reduce(0) { $0 * 10 + Int($1) - 48 }
            return
        }
        guard !(200..<300).contains(self.slots[slot].status),
            run.interesting.contains(where: { unsafe $0.elementsEqual(name) })
        else { return }
        self.slots[slot].headerBytes += name.count + value.count
        guard self.slots[slot].headerBytes <= self.client.configuration.maximumHeaderBytes else { return }
        let field = unsafe HTTP2Field(String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self))
        self.slots[slot].headers.append(field)
    }

    func received(data: UnsafeBufferPointer<UInt8>, slot: Int, stream: Int32) {
        guard self.slots[slot].stream == stream, self.slots[slot].run != nil,
            !(200..<300).contains(self.slots[slot].status)
        else { return }
        let capacity = self.client.configuration.maximumBodyBytes - self.slots[slot].body.count
        unsafe self.slots[slot].body.append(contentsOf: data.prefix(capacity))
        // No error body needs more: the rest is not read.
        if data.count > capacity { self.endEarly(slot) }
    }

    func receivedHeaders(slot: Int, stream: Int32) {
        guard self.slots[slot].stream == stream, self.slots[slot].status >= 200 else { return }
        self.slots[slot].hasHead = true
    }

    func receivedEnd(slot: Int, stream: Int32) {
        guard self.slots[slot].stream == stream else { return }
        // The peer answered without waiting for the whole request: the rest of it is of no use.
        if self.slots[slot].isBodySent { self.slots[slot].isComplete = true } else { self.endEarly(slot) }
    }

    private func endEarly(_ slot: Int) {
        guard !self.slots[slot].isComplete else { return }
        self.slots[slot].isComplete = true
        let stream = self.slots[slot].stream
        self.withSession { session throws(HTTP2SessionFault) in try session.reset(stream) }
    }

    func receivedGoAway(code: UInt32, debugData: UnsafeBufferPointer<UInt8>) {
        let visible = unsafe debugData.prefix(200).filter { (0x20...0x7E).contains($0) }
        self.goAway = "GOAWAY \(code) \(String(decoding: visible, as: UTF8.self))"
        self.client.logger.debug("peer is closing a connection", metadata: ["reason": "\(self.goAway ?? "")"])
        if self.state == .connecting { self.state = .draining }
        self.drain()
    }

    func receivedPingAnswer() { self.pingSent = nil }

    func streamClosed(slot: Int, stream: Int32, code: UInt32) {
        guard self.slots[slot].stream == stream else { return }
        let index = self.slots[slot].index
        let run = self.slots[slot].run
        let response = self.answer(slot)
        let expires = self.slots[slot].expires
        self.slots.release(slot)
        guard let run else { return }
        if let response {
            if self.answered.isMultiple(of: 64) {
                let took = NIODeadline.now() - (expires - run.requestTimeout)
                self.client.timed(.nanoseconds(took.nanoseconds))
            }
            self.answered += 1
            self.lastAnswer = .now()
            self.client.finished(run, index, .response(response))
        } else if code == HTTP2Session.refusedStream {
            self.client.refused(run, index, reason: self.goAway ?? "REFUSED_STREAM")
        } else {
            self.client.finished(run, index, .unanswered(.reset(code)))
        }
    }

    func requestNotSent(stream: Int32, isRefused: Bool) {
        guard let slot = self.slots.indices.first(where: { self.slots[$0].stream == stream }) else { return }
        let index = self.slots[slot].index
        let run = self.slots[slot].run
        self.slots.release(slot)
        guard let run else { return }
        if isRefused {
            self.client.refused(run, index, reason: self.goAway ?? "the connection takes no more streams")
        } else {
            self.client.finished(run, index, .notProcessed(.invalid))
        }
    }

    func readBody(slot: Int, into buffer: UnsafeMutableBufferPointer<UInt8>) -> (count: Int, isEnd: Bool) {
        let offset = self.slots[slot].bodyOffset
        let total: Int
        let count: Int
        switch self.slots[slot].retained?.batch.body {
        case .shared(let bytes):
            total = bytes.count
            count = unsafe HTTP2Connection.copy(bytes, from: offset, into: buffer)
        case .each:
            total = self.slots[slot].requestBody.count
            count = unsafe HTTP2Connection.copy(self.slots[slot].requestBody, from: offset, into: buffer)
        case nil:
            return (0, true)
        }
        self.slots[slot].bodyOffset = offset + count
        let isEnd = offset + count == total
        if isEnd { self.slots[slot].isBodySent = true }
        return (count, isEnd)
    }

    private static func copy(_ bytes: [UInt8], from offset: Int, into buffer: UnsafeMutableBufferPointer<UInt8>) -> Int
    {
        let count = min(buffer.count, bytes.count - offset)
        unsafe bytes.withUnsafeBufferPointer { source in
            guard let from = source.baseAddress, let to = buffer.baseAddress else { return }
            unsafe to.update(from: from + offset, count: count)
        }
        return count
    }
}
