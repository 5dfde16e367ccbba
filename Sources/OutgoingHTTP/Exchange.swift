import AsyncHTTPClient
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1

/// One request and its answer, as far as it comes.
final class Exchange: HTTPClientResponseDelegate {
    typealias Response = Void

    /// How it ended.
    struct End: Sendable {
        fileprivate let fault: Fault?
        fileprivate let isSent: Bool
        fileprivate let head: HTTPResponseHead?
        fileprivate let body: ByteBuffer
    }

    fileprivate enum Fault: Sendable {
        case tooLong
        /// The library did not end it by its deadline.
        case abandoned
        case failed(any Error)
    }

    private struct State {
        var isSent = false
        var head: HTTPResponseHead?
        var body = ByteBuffer()
        /// Whether the library has ended it.
        var isEnded = false
        var isCancelled = false
        var task: HTTPClient.Task<Void>?
        var number: Int?
    }

    private let limit: Int
    private let state = NIOLockedValueBox(State())
    private let answer = OneAnswer<Fault?>()

    /// - Parameter limit: The most bytes of the answer's body.
    init(atMost limit: Int) { self.limit = limit }

    /// Whether the library is done with it.
    var isEnded: Bool { self.state.withLockedValue(\.isEnded) }

    /// Makes the request, and returns by the deadline.
    func run(
        _ request: OutgoingRequest,
        over client: HTTPClient,
        by deadline: ContinuousClock.Instant,
        _ watch: DeadlineWatch
    ) async -> End {
        self.begin(request, over: client, by: deadline, watch)
        let fault = await withTaskCancellationHandler {
            await self.answer.value
        } onCancel: {
            let task = self.state.withLockedValue { state in
                state.isCancelled = true
                return state.task
            }
            task?.cancel()
        }
        return self.state.withLockedValue { state in
            if let number = state.number { watch.remove(number) }
            return End(fault: fault, isSent: state.isSent, head: state.head, body: state.body)
        }
    }

    private func begin(
        _ request: OutgoingRequest,
        over client: HTTPClient,
        by deadline: ContinuousClock.Instant,
        _ watch: DeadlineWatch
    ) {
        let made: HTTPClient.Request
        do { made = try self.made(request) } catch {
            self.end(.failed(error))
            return
        }
        let number = watch.add(deadline + DeadlineWatch.grace) {
            self.answer.give(.abandoned)
            self.state.withLockedValue(\.task)?.cancel()
        }
        let left = TimeAmount(max(.zero, ContinuousClock.now.duration(to: deadline)))
        let task = client.execute(request: made, delegate: self, deadline: .now() + left)
        let isCancelled = self.state.withLockedValue { state in
            (state.task, state.number) = (task, number)
            return state.isCancelled
        }
        if isCancelled { task.cancel() }
        task.futureResult.whenComplete { result in
            switch result {
            case .success: self.end(nil)
            case .failure(let error): self.end(.failed(error))
            }
        }
    }

    private func made(_ request: OutgoingRequest) throws -> HTTPClient.Request {
        try HTTPClient.Request(
            url: request.url,
            method: request.method,
            headers: request.headers,
            body: request.body.map { body in
                // Asked for when the head is written: before that, nothing was sent that a server could act on.
                .stream(contentLength: Int64(body.readableBytes)) { writer in
                    self.state.withLockedValue { $0.isSent = true }
                    return writer.write(.byteBuffer(body))
                }
            },
            tlsConfiguration: request.tls
        )
    }

    private func end(_ fault: Fault?) {
        self.state.withLockedValue { state in
            state.isEnded = true
            state.task = nil
        }
        self.answer.give(fault)
    }

    // MARK: What the library tells

    func didSendRequestHead(task: HTTPClient.Task<Void>, _ head: HTTPRequestHead) {
        // A request with a body is not whole yet.
        guard head.headers.first(name: "content-length").map({ $0 == "0" }) ?? true else { return }
        self.state.withLockedValue { $0.isSent = true }
    }

    func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        self.state.withLockedValue { $0.head = head }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ part: ByteBuffer) -> EventLoopFuture<Void> {
        let isTooLong = self.state.withLockedValue { state in
            guard state.body.readableBytes + part.readableBytes <= self.limit else { return true }
            var part = part
            state.body.writeBuffer(&part)
            return false
        }
        guard isTooLong else { return task.eventLoop.makeSucceededVoidFuture() }
        self.answer.give(.tooLong)
        return task.eventLoop.makeFailedFuture(HTTPClientError.cancelled)
    }

    func didFinishRequest(task: HTTPClient.Task<Void>) {}
}

extension Exchange.End {
    var isAbandoned: Bool { if case .abandoned? = self.fault { true } else { false } }

    /// How far it had come, where its deadline ended it.
    var stopped: Peer.Stage? {
        let isStop =
            switch self.fault {
            case .abandoned: true
            case .failed(let error): RequestFailure.isStop(error)
            case .tooLong, nil: false
            }
        return isStop ? self.head != nil ? .body : self.isSent ? .head : .connect : nil
    }

    /// The answer, whatever became of its body.
    func answer() throws(NoAnswer) -> OutgoingAnswer {
        guard let head = self.head else { throw self.noAnswer }
        let body: OutgoingAnswer.Body =
            switch self.fault {
            case nil: .whole(self.body)
            case .tooLong: .tooLong
            case .abandoned: .cut("did not end in time")
            case .failed(let error):
                .cut(self.stopped == nil ? "broke off: \(ForeignText.word("\(error)"))" : "did not end in time")
            }
        return OutgoingAnswer(status: Int(head.status.code), headers: head.headers, body: body)
    }

    private var noAnswer: NoAnswer {
        let stage = self.stopped
        guard case .failed(let error)? = self.fault, stage == nil else {
            return NoAnswer(
                isBeforeSending: stage == .connect,
                isStop: true,
                description: stage == .connect ? "it was not made in time" : "no answer in time"
            )
        }
        return NoAnswer(
            isBeforeSending: !self.isSent || RequestFailure.isBeforeSending(error),
            isStop: false,
            description: ForeignText.word("\(error)")
        )
    }
}
