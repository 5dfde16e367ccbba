import HTTPTypes
import Hummingbird
import NIOCore
import PushModel

/// Reads bodies within their limits of size and time.
struct BodyReader: Sendable {
    /// A body that was read.
    struct Body: Sendable {
        var bytes: [UInt8] = []
        /// Of a body beyond the usual limit: kept until the request is answered.
        var place: Places.Place?
    }

    let configuration: APIConfiguration
    /// So many bodies beyond the usual limit are in memory at a time.
    private let large = Places(16)

    private let deadlines: Deadlines

    init(configuration: APIConfiguration) {
        self.configuration = configuration
        self.deadlines = Deadlines(limit: configuration.requestTime)
    }

    /// - Parameters:
    ///   - request: Whose body it is.
    ///   - kind: What is taken.
    ///   - end: Makes the body end, in any way, when it has not come in time.
    /// - Returns: The body.
    /// - Throws: ``Problem``: 413 for a body that is too large, 408 for one that does not come in time, 400 for one that breaks
    ///   off, 503 while too many large ones are read; `CancellationError` when the server goes down.
    func read(_ request: Request, kind: Route.Body, end: @escaping @Sendable () -> Void) async throws -> Body {
        let limit: Int
        switch kind {
        case .none, .stream: return Body()
        case .limited: limit = self.configuration.maximumBodySize
        case .send: limit = self.configuration.maximumSendSize
        case .upload: limit = self.configuration.maximumContentSize
        }
        if let length = request.headers.text(of: .contentLength).flatMap(Int.init), length > limit {
            throw Self.tooLarge(limit)
        }
        let stream = request.body
        do {
            return try await self.deadlines.run(
                {
                    guard kind == .send else {
                        return Body(bytes: Array(buffer: try await stream.collect(upTo: limit)))
                    }
                    return try await self.collect(stream, upTo: limit)
                },
                end: end
            )
        } catch is Deadlines.Overdue {
            let time = self.configuration.requestTime
            throw Problem(.requestTimeout, "the body did not come within \(time.inSeconds) s")
        } catch is NIOTooManyBytesError {
            throw Self.tooLarge(limit)
        } catch let problem as Problem {
            throw problem
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            // Chunks that are none, another length than was said: the end never comes, and ``LastAnswers`` closes.
            throw Self.brokenOff
        }
    }

    /// Reads a body that takes a place where it is larger than others may be.
    private func collect(_ stream: RequestBody, upTo limit: Int) async throws -> Body {
        var body = Body()
        for try await piece in stream {
            let size = body.bytes.count + piece.readableBytes
            guard size <= limit else { throw Self.tooLarge(limit) }
            if size > self.configuration.maximumBodySize, body.place == nil {
                body.place = self.large.take()
                guard body.place != nil else {
                    throw Problem.later(.serviceUnavailable, "too many large requests are under way", seconds: 1)
                }
            }
            body.bytes.append(contentsOf: piece.readableBytesView)
        }
        return body
    }

    static let brokenOff = Problem(.badRequest, "the body breaks off, or is not sent as HTTP has it")

    private static func tooLarge(_ limit: Int) -> Problem {
        Problem(.contentTooLarge, "the body has more than \(limit) bytes, the most that is taken here")
    }
}
