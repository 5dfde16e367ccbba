import HTTPTypes
import NIOConcurrencyHelpers
import NIOCore
import PushModel

/// One who watches a job: holds the newest state that it has not been sent, and no other.
final class JobWatcher: Sendable {
    let job: JobID
    let prefix: String
    let request: HTTPRequest
    let caller: Caller
    /// Ends when the watching does.
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    private let newest = NIOLockedValueBox<ByteBuffer?>(nil)

    /// - Parameters:
    ///   - job: The job.
    ///   - prefix: The prefix of links.
    ///   - request: The request that lets the caller in, now and later.
    ///   - caller: Who watches.
    init(of job: JobID, prefix: String, request: HTTPRequest, caller: Caller) {
        self.job = job
        self.prefix = prefix
        self.request = request
        self.caller = caller
        (self.wakes, self.wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func tell(_ event: ByteBuffer) {
        self.newest.withLockedValue { $0 = event }
        self.wake.yield()
    }

    /// Has something sent, so that a client that is gone is noticed, and one that is there knows that we are.
    func beat() { self.wake.yield() }

    /// Ends the events behind what was told.
    func end() { self.wake.finish() }

    /// Writes what is told, until it ends or the task is cancelled.
    func write(_ body: (ByteBuffer) async throws -> Void) async rethrows {
        for await _ in self.wakes {
            let event = self.newest.withLockedValue { newest in
                defer { newest = nil }
                return newest
            }
            try await body(event ?? Self.heartbeat)
        }
    }

    private static let heartbeat = ByteBuffer(string: ":\n\n")

    /// An event of the type `job` (HTML Standard, 9.2.5).
    ///
    /// - Parameter text: JSON in one line.
    /// - Returns: The event's bytes.
    static func event(_ text: [UInt8]) -> ByteBuffer {
        var event = ByteBuffer()
        event.reserveCapacity(text.count + 20)
        event.writeString("event: job\ndata: ")
        event.writeBytes(text)
        event.writeString("\n\n")
        return event
    }
}
