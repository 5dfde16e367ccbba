import NIOConcurrencyHelpers
import PushModel
import Store
import WebServing

/// Why sends fail, looked up once for all who ask meanwhile: each page of a send asks every five seconds.
final class FailureTallies: Sendable {
    /// A job, and the JSON of what failed of it.
    struct Found: Sendable {
        let job: Job
        let json: [UInt8]
    }

    /// Looks a job up; nil = the app has none of that id.
    typealias Look = @Sendable (_ id: JobID, _ app: AppID) async throws -> Found?

    private typealias Copy = SharedCopy<Result<Found?, any Error>>

    private struct Key: Hashable {
        let job: JobID
        let app: AppID
    }

    /// The most that are kept: anybody may ask for any id.
    static let most = 64

    private let lifetime: Duration
    private let look: Look
    private let copies = NIOLockedValueBox<[Key: Copy]>([:])

    /// - Parameters:
    ///   - lifetime: How old an answer may be.
    ///   - look: Looks a job up.
    init(lifetime: Duration = .seconds(5), look: @escaping Look) {
        self.lifetime = lifetime
        self.look = look
    }

    /// - Returns: The job as it was found last; nil while too many wait for it already.
    func found(_ id: JobID, app: AppID) async -> Result<Found?, any Error>? {
        let key = Key(job: id, app: app)
        let copy = self.copies.withLockedValue { copies in
            if let copy = copies[key] { return copy }
            // Whoever waits for one of them gets it still.
            if copies.count >= Self.most { copies = [:] }
            let look = self.look
            let copy = Copy(lifetime: self.lifetime) {
                do { return .success(try await look(id, app)) } catch { return .failure(error) }
            }
            copies[key] = copy
            return copy
        }
        return await copy.value()
    }
}
