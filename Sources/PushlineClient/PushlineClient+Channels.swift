public import Foundation

/// A broadcast channel of APNs, to which Live Activities listen (iOS 18): one push to it reaches them all.
public struct BroadcastChannel: Sendable, Equatable, Codable, Identifiable {
    /// What a channel keeps for devices that are off; it cannot be changed.
    public enum Storage: String, Sendable, Codable, CaseIterable {
        /// Nothing: Apple allows more pushes then.
        case nothing = "none"
        /// The last push with a time to live, for at most 8 hours.
        case latest
    }

    /// As Apple gave it: ``PushNotification/Audience/channel(_:credential:)`` sends to it.
    public let id: String
    /// What Apple keeps; nil = not known, as in a list.
    public let storage: Storage?
}

extension PushlineClient {
    /// Makes a broadcast channel at Apple.
    ///
    /// - Parameters:
    ///   - storage: What Apple keeps for devices that are off.
    ///   - credential: Which of the app's credentials at APNs; nil = the default one.
    ///   - idempotencyKey: After ``PushlineError/Code/timeout`` or ``PushlineError/Code/unreachable`` repeat the call with the same
    ///     key: no second channel is made. A new one by default.
    /// - Returns: The channel.
    /// - Throws: ``PushlineError``; ``PushlineError/Code/timeout`` also when Apple has not answered yet.
    public func createChannel(
        storage: BroadcastChannel.Storage = .nothing,
        credential: String? = nil,
        idempotencyKey: String = UUID().uuidString
    ) async throws -> BroadcastChannel {
        struct Body: Encodable {
            let storage: BroadcastChannel.Storage
            let credential: String?
        }
        let call = Call(
            method: "POST",
            path: ["channels"],
            headers: ["Idempotency-Key": idempotencyKey],
            body: try Coding.body(Body(storage: storage, credential: credential))
        )
        let answer = try await self.answer(call)
        guard answer.status != 202 else {
            let job = answer.headers["pushline-job"] ?? "of this key"
            throw PushlineError(
                .timeout,
                "Apple has not answered yet; the job \(job) goes on: ask for it, its result will have the channel (idempotency key \(idempotencyKey))"
            )
        }
        return try self.read(answer, of: call)
    }

    /// The ids of the bundle id's channels, as Apple has them now.
    ///
    /// - Parameters:
    ///   - credential: Which of the app's credentials at APNs; nil = the default one.
    ///   - limit: The most to return, 1 to 1000.
    ///   - cursor: The cursor of the page before.
    /// - Returns: A page of the list.
    /// - Throws: ``PushlineError``.
    public func channels(
        credential: String? = nil,
        limit: Int? = nil,
        cursor: String? = nil
    ) async throws -> Page<BroadcastChannel> {
        let query = [("credential", credential), ("limit", limit.map(String.init)), ("cursor", cursor)]
        return try await self.value(Call(method: "GET", path: ["channels"], query: query))
    }

    /// A channel, with its storage.
    ///
    /// - Throws: ``PushlineError``; ``PushlineError/Code/notFound`` when the bundle id has none of that id.
    public func channel(_ id: String, credential: String? = nil) async throws -> BroadcastChannel {
        try await self.value(Call(method: "GET", path: ["channels", id], query: [("credential", credential)]))
    }

    /// Removes a channel for good: pushes to it are refused, and its id is never given again.
    ///
    /// - Throws: ``PushlineError``; ``PushlineError/Code/notFound`` when the bundle id has none of that id.
    public func deleteChannel(_ id: String, credential: String? = nil) async throws {
        try await self.answer(Call(method: "DELETE", path: ["channels", id], query: [("credential", credential)]))
    }
}
