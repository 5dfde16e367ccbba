package import PushModel

/// Messages that no worker could process, and their replay (rule 6).
///
/// Each app has its own, with numbers of its own; a message that names no declared app is the host operator's affair alone.
package protocol DeadLetterStore: Sendable {
    /// Keeps a dead letter, once, and in the same transaction closes the batch or job that it stood for: the devices of an open
    /// batch count as ``FailureClass/dead``, a register job is refused, a send job is abandoned.
    ///
    /// - Returns: The jobs that the message stood for, none where it was a copy.
    /// - Throws: ``StoreError``; then nothing was changed.
    @discardableResult
    func deadLetter(_ message: IncomingDeadLetter) async throws -> [JobTrace]

    /// Dead letters, newest first.
    ///
    /// - Throws: ``StoreError``.
    func deadLetters(_ query: DeadLetterQuery) async throws -> Page<DeadLetter>

    /// Replays a dead letter, once: the replay removes it.
    ///
    /// The devices of a batch that count as dead are retried in its next attempt, which is due at once; those of a first attempt are
    /// the audience's within the page's range, and of devices that are no longer in it as many count as deregistered. A register
    /// job and a send job are queued again. A job that was final runs again.
    ///
    /// - Parameters:
    ///   - number: The dead letter's number.
    ///   - app: The app.
    /// - Returns: The result; nil if the app has no dead letter of that number (any more).
    /// - Throws: ``StoreError``; then nothing was changed.
    func replay(deadLetter number: Int64, app: AppID) async throws -> Replay?

    /// Removes a dead letter; its devices stay counted.
    ///
    /// - Parameters:
    ///   - number: The dead letter's number.
    ///   - app: The app; nil = of those that name none that is declared.
    /// - Returns: The removed dead letter, or nil if the app has none of that number.
    /// - Throws: ``StoreError``.
    func discard(deadLetter number: Int64, app: AppID?) async throws -> DeadLetter?
}

/// Which dead letters to list.
package struct DeadLetterQuery: Sendable {
    /// The app; nil = those that name none that is declared.
    package var app: AppID?
    /// The only one to look for, with its body.
    package var number: Int64?
    /// Those from this queue, of this type, with this reason alone; nil = any.
    package var queue: String?
    package var type: String?
    package var reason: String?
    /// Those of this job alone; nil = of any.
    package var job: JobID?
    /// The newest one to list: later ones are left out.
    package var upTo: Int64?
    /// The cursor of the page before.
    package var cursor: String?
    /// 1 to 1000.
    package var limit: Int

    package init(app: AppID?, number: Int64? = nil, cursor: String? = nil, limit: Int = 100) {
        self.app = app
        self.number = number
        self.cursor = cursor
        self.limit = limit
    }
}

extension DeadLetterStore {
    /// The app's dead letter of that number, with its body, or nil.
    package func deadLetter(_ number: Int64, app: AppID) async throws -> DeadLetter? {
        try await self.deadLetters(DeadLetterQuery(app: app, number: number, limit: 1)).items.first
    }
}
