package import PushModel

/// The registrations of the embedded hub.
package protocol RegistrationStore: ConfirmsReads {
    /// Applies a change in one transaction; the removal of a user, in parts.
    ///
    /// A change applies only where the registration's version is below the job's sequence; repeating the very same change gives the
    /// same result (rule 11). `issue`: gives the id that has one of the handles, else the candidate, of which nothing is kept.
    /// `upsert`: an id that nobody has becomes the user's, one deleted on purpose is ``RegisterResult/gone``; another user's
    /// is taken over with the same handle, else ``RegisterResult/notFound``; its owner revives one that was pruned, replaced
    /// or has expired. The handle leaves any other registration of the app (state ``Registration/State/replaced``). Made on
    /// behalf of a user, it asks for nobody's ownership. `create`: an upsert of the live registration that has the handle, else
    /// of the candidate. `patch`: changes the tags and the credential of a live registration once, whatever the order of the changes beside it.
    /// `delete` and `patch`: by its owner, or of anyone's where the job has no user (the app); a deleted id stays so until it is forgotten.
    /// Deleting an id that nobody has is ``RegisterResult/notFound``, and for two days no earlier change of the same user makes it. A change
    /// of a user who was removed since is refused.
    ///
    /// `removeUser`: each call does a part, in short transactions; any process may do any part. The removal begins with the acceptance of
    /// the job: the account goes with that commit, and no earlier change of the user does anything from then on. What is made later stays.
    /// While a removal of a user is under way, a second one is ``JobAcceptance/repeated(_:)``.
    ///
    /// - Parameters:
    ///   - request: The change.
    ///   - job: Its job.
    /// - Returns: The result; a refusal is a result, not an error. nil = there is more to do.
    /// - Throws: ``StoreError``.
    func register(_ request: RegisterRequest, of job: RegisterJob) async throws -> RegisterResult?

    /// Creates and updates registrations on behalf of an operator.
    ///
    /// Each is found by its id, otherwise by its handle among the live ones; an unknown id is created. Ownership is not
    /// checked, a handle leaves any other registration, and a change applies only to a registration whose version is
    /// not above the import's sequence. Of two rows with the same id or handle the later wins. A repeated import updates only
    /// times.
    ///
    /// - Parameters:
    ///   - rows: The registrations; none = the import only begins. They are written in an order that suits the store, in transactions
    ///     that end when another change waits: many at once are cheaper than several calls.
    ///   - app: The app.
    ///   - sequence: The import that they belong to, as its first call returned it; nil = one that begins.
    ///   - lifetime: How long those live that do not say when they expire; nil = for ever.
    /// - Returns: The result for each, in the order of `rows`.
    /// - Throws: ``StoreError``; then some rows may be written, and a repeat is harmless.
    func importRegistrations(
        _ rows: [ImportedRegistration],
        app: AppID,
        sequence: Int64?,
        lifetime: Duration?
    ) async throws -> ImportedRegistrations

    /// Registrations in the order of their rows.
    func registrations(_ query: RegistrationQuery) async throws -> Page<Registration>

    /// How many live registrations name each credential; those with the default one name none.
    func credentialUses(app: AppID) async throws -> [CredentialUse]
}

extension RegistrationStore {
    package func registration(_ id: RegistrationID, app: AppID) async throws -> Registration? {
        try await self.registrations(RegistrationQuery(app: app, id: id)).items.first
    }
}
