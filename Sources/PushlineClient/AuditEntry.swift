public import Foundation

/// What an operator has done.
public struct AuditEntry: Sendable, Equatable, Codable, Identifiable {
    /// A number.
    public let id: String
    /// The app, where a list is of several; nil = the host, or all apps.
    public let app: String?
    /// When it was begun.
    public let at: Date
    /// Who did it: `account:`, `key:` or `host:` and a name, or `removed:` for a user who was removed since.
    public let by: String
    /// `api`, `console`, or `host` for the command line tool on the store itself.
    public let via: String
    /// The client's address, or the host's name.
    public let from: String
    /// What was done, such as `queue.pause`.
    public let action: String
    /// The user that it was about.
    public let user: String?
    /// What it was done to, in a few words.
    public let target: String?
    /// `begun`, `done` or `refused`.
    public let state: String
    /// When it ended.
    public let ended: Date?
    /// What came of it, or why it was refused.
    public let result: String?
    /// The request that asked for it.
    public let request: String?

    /// An entry of a list.
    public init(
        id: String,
        app: String? = nil,
        at: Date,
        by: String,
        via: String,
        from: String,
        action: String,
        user: String? = nil,
        target: String? = nil,
        state: String,
        ended: Date? = nil,
        result: String? = nil,
        request: String? = nil
    ) {
        self.id = id
        self.app = app
        self.at = at
        self.by = by
        self.via = via
        self.from = from
        self.action = action
        self.user = user
        self.target = target
        self.state = state
        self.ended = ended
        self.result = result
        self.request = request
    }
}

extension PushlineClient {
    /// What the app's operators have done, newest first; for operators.
    ///
    /// - Parameters:
    ///   - author: Only by this one, as in ``AuditEntry/by``, or by anybody of that name.
    ///   - action: Only this, as in ``AuditEntry/action``.
    ///   - state: Only in this state.
    ///   - since: Only since then.
    ///   - job: Only what concerned this job.
    ///   - limit: The most to return, 1 to 1000.
    ///   - cursor: From the piece before.
    /// - Returns: A piece of the list, which may be short, or empty, where few of many are asked for.
    /// - Throws: ``PushlineError``.
    public func audit(
        by author: String? = nil,
        action: String? = nil,
        state: String? = nil,
        since: Date? = nil,
        job: String? = nil,
        limit: Int? = nil,
        cursor: String? = nil
    ) async throws -> Page<AuditEntry> {
        let query = [
            ("by", author), ("action", action), ("state", state), ("since", since.map(Coding.text)),
            ("job", job), ("limit", limit.map(String.init)), ("cursor", cursor),
        ]
        return try await self.value(Call(method: "GET", path: ["audit"], query: query))
    }
}
