package import PushModel

/// The registrations of the embedded hub.
package protocol RegistrationStore: Sendable {
    /// Applies a change in one transaction.
    ///
    /// A change applies only where the registration's version is below `sequence`; repeating the very same change gives the
    /// same result (rule 11). `issue`: gives the id that has one of the handles, else the candidate, of which nothing is kept.
    /// `upsert`: an id that nobody has becomes the user's, one deleted on purpose is ``RegisterResult/gone``; another user's
    /// is taken over with the same handle, else ``RegisterResult/notFound``; its owner revives one that was pruned, replaced
    /// or has expired. The handle leaves any other registration of the app (state ``Registration/State/replaced``). `delete`:
    /// by its owner, or by anyone where `user` is nil (an operator); a deleted id stays so until it is forgotten. Deleting an
    /// id that nobody has is ``RegisterResult/notFound``, and for two days no earlier change of the same user makes it.
    ///
    /// - Parameters:
    ///   - request: The change.
    ///   - app: The app.
    ///   - user: Who asks; their own tag is added to what they register, another user's is left out. nil = an operator, for
    ///     deleting.
    ///   - sequence: The register job's ``Job/sequence``.
    ///   - expires: When the registration expires, reckoned from ``steadyTime``; nil = never.
    ///   - most: How many live registrations the user may have: one more ends the one that was changed longest ago. As many that
    ///     have ended are remembered beside those of the last day; nil = any number.
    /// - Returns: The result; a refusal is a result, not an error.
    /// - Throws: ``StoreError``.
    func change(
        _ request: RegisterRequest,
        app: AppID,
        user: UserName?,
        sequence: Int64,
        expires: Timestamp?,
        most: Int?
    ) async throws -> RegisterResult

    /// Begins an import.
    ///
    /// - Returns: The sequence that its changes carry: higher than that of every job accepted so far (rule 11).
    func beginImport() async throws -> Int64

    /// Creates and updates registrations on behalf of an operator.
    ///
    /// Each is found by its id, else by its handle among the live ones; an id that nobody has is taken as it is. Nobody's
    /// ownership is asked for, a handle leaves any other registration, and a change applies only where the registration's version
    /// is not above `sequence`. Of two rows with the same id or handle the later counts. Repeating an import changes nothing
    /// but when the registrations were updated.
    ///
    /// - Parameters:
    ///   - rows: The registrations. They are written in an order that suits the store, in transactions that end when somebody else
    ///     waits to write: many at once are cheaper than the same in several calls.
    ///   - app: The app.
    ///   - sequence: The result of ``beginImport()``.
    /// - Returns: The result for each, in the order of `rows`.
    /// - Throws: ``StoreError``; then some rows may be written, and a repeat is harmless.
    func importRegistrations(_ rows: [ImportedRegistration], app: AppID, sequence: Int64) async throws -> [ImportResult]

    func registration(_ id: RegistrationID, app: AppID) async throws -> Registration?

    /// Registrations in the order of their rows.
    func registrations(_ query: RegistrationQuery) async throws -> Page<Registration>

    /// The time by a clock that is near the wall clock and does not jump: lifetimes begin at it.
    var steadyTime: Timestamp { get }
}

/// Which registrations to list.
package struct RegistrationQuery: Sendable {
    package var app: AppID
    package var user: UserName?
    package var tag: Tag?
    package var pns: PushService?
    /// nil = all but the deleted.
    package var state: Registration.State?
    package var cursor: String?
    /// 1 to 1000.
    package var limit: Int

    package init(
        app: AppID,
        user: UserName? = nil,
        tag: Tag? = nil,
        pns: PushService? = nil,
        state: Registration.State? = nil,
        cursor: String? = nil,
        limit: Int = 100
    ) {
        self.app = app
        self.user = user
        self.tag = tag
        self.pns = pns
        self.state = state
        self.cursor = cursor
        self.limit = limit
    }
}
