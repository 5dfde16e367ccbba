import HTTPTypes
import Hummingbird
import NIOCore
import PushModel

/// Reads bodies within their limits of size and time.
struct BodyReader: Sendable {
    let configuration: APIConfiguration

    /// - Throws: ``Problem``: 413 for a body that is too large, 408 for one that does not come in time, 400 for one that breaks
    ///   off; `CancellationError` when the server goes down.
    func read(_ request: Request, kind: Route.Body) async throws -> [UInt8] {
        let limit: Int
        switch kind {
        case .none, .stream: return []
        case .limited: limit = self.configuration.maximumBodySize
        case .upload: limit = self.configuration.maximumContentSize
        }
        if let length = request.headers[.contentLength].flatMap(Int.init), length > limit { throw Self.tooLarge(limit) }
        let time = self.configuration.requestTime
        do {
            return try await withThrowingTaskGroup(of: [UInt8].self) { group in
                group.addTask { Array(buffer: try await request.body.collect(upTo: limit)) }
                group.addTask {
                    try await Task.sleep(for: time)
                    throw Problem(.requestTimeout, "the body did not come within \(time.inSeconds) s")
                }
                defer { group.cancelAll() }
                return try await group.next() ?? []
            }
        } catch is NIOTooManyBytesError {
            throw Self.tooLarge(limit)
        } catch let problem as Problem {
            throw problem
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            // Chunks that are none, another length than was said: the end never comes, and ``EarlyAnswers`` closes.
            throw Self.brokenOff
        }
    }

    static let brokenOff = Problem(.badRequest, "the body breaks off, or is not sent as HTTP has it")

    private static func tooLarge(_ limit: Int) -> Problem {
        Problem(.contentTooLarge, "the body has more than \(limit) bytes, the most that is taken here")
    }
}
