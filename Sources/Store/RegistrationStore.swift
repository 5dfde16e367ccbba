package import PushModel

/// The registrations of the embedded hub.
package protocol RegistrationStore: Sendable {
    /// Applies a change in one transaction.
    ///
    /// A change applies only to a registration whose version is below `sequence`; a repeated change has the same result
    /// (rule 11). `issue` returns the id of one of the handles, otherwise the candidate, which is not stored. `upsert`:
    /// an unknown id becomes the user's, a deleted one is ``RegisterResult/gone``; another user's is taken over with
    /// the same handle, otherwise ``RegisterResult/notFound``; its owner revives one that was pruned, replaced or has
    /// expired. The handle leaves any other registration of the app (state ``Registration/State/replaced``). `delete`:
    /// by its owner, or by an operator (`user` is nil); a deleted id stays deleted until it is forgotten. Deleting an
    /// unknown id is ``RegisterResult/notFound``, and for two days no earlier change of the same user creates it.
    ///
    /// - Parameters:
    ///   - request: The change.
    ///   - app: The app.
    ///   - user: The user; their own tag is added to the registration, and other users' own tags are removed. nil = an
    ///     operator, for deleting.
    ///   - sequence: The register job's ``Job/sequence``.
    ///   - expires: The registration's expiry, relative to ``steadyTime``; nil = never.
    ///   - most: The limit of the user's live registrations: a further one ends the one that was changed longest ago.
    ///     The same number of ended ones is remembered, beside those of the last day; nil = no limit.
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
    /// Each is found by its id, otherwise by its handle among the live ones; an unknown id is created. Ownership is not
    /// checked, a handle leaves any other registration, and a change applies only to a registration whose version is
    /// not above `sequence`. Of two rows with the same id or handle the later wins. A repeated import updates only
    /// times.
    ///
    /// - Parameters:
    ///   - rows: The registrations. They are written in an order that suits the store, in transactions that end when
    ///     another change waits: many at once are cheaper than several calls.
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
