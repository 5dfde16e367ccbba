package import PushModel

/// The registrations of the embedded hub.
package protocol RegistrationStore: Sendable {
    /// Applies a change in one transaction.
    ///
    /// A change applies only where the registration's version is below `sequence`; repeating the very same change gives the
    /// same result (rule 11). `issue`: gives the id that has one of the handles, else the candidate, of which nothing is kept.
    /// `upsert`: an id that nobody has becomes the user's, one deleted on purpose is ``RegisterResult/gone``; another user's
    /// is taken over with the same handle, else ``RegisterResult/notFound``; its owner revives one that was pruned, replaced
    /// or has expired. The handle leaves any other registration of the app (state ``Registration/State/replaced``). Made on
    /// behalf of a user, it asks for nobody's ownership. `create`: an upsert of the live registration that has the handle, else
    /// of the candidate. `patch`: changes the tags and the credential of a live registration once, whatever the order of the changes beside it.
    /// `delete` and `patch`: by its owner, or of anyone's where `user` is nil (the app); a deleted id stays so until it is forgotten. Deleting an
    /// id that nobody has is ``RegisterResult/notFound``, and for two days no earlier change of the same user makes it. A change of a user
    /// who was removed since is refused. `removeUser`: all that ``removeUser(by:)`` does.
    ///
    /// - Parameters:
    ///   - request: The change.
    ///   - app: The app.
    ///   - user: Who asks; their own tag is added to what they register, another user's is left out. nil = the app's backend or
    ///     an operator.
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

    /// Does a part of the removal of a user, which is a register job (``RegisterRequest/removeUser(_:withAccount:)``).
    ///
    /// It begins with the acceptance of the job: the account goes with that commit, and no earlier change of the user does
    /// anything from then on. What is made later stays. While a removal of a user is under way, a second one is
    /// ``JobAcceptance/repeated(_:)``. Any process may do any part, in short transactions.
    ///
    /// - Parameter job: The job's ``Job/sequence``.
    /// - Returns: The result; nil = there is more to do.
    /// - Throws: ``StoreError``.
    func removeUser(by job: Int64) async throws -> RegisterResult?

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

    /// How many live registrations name each credential; those with the default one name none.
    func credentialUses(app: AppID) async throws -> [CredentialUse]

    /// The time by a clock that is near the wall clock and does not jump: lifetimes begin at it.
    var steadyTime: Timestamp { get }
}
