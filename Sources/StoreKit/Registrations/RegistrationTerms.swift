package import PushModel
package import Store

/// On what terms registrations are changed.
package struct RegistrationTerms: Sendable {
    /// On whose word.
    package enum Authority: Sendable {
        /// A user changes their own.
        case owner
        /// The app's backend or an operator changes anybody's.
        case app
        /// An import writes anybody's: many, under one sequence.
        case bulk
    }

    package let sequence: Int64
    /// Whose registration it is to be; of a deletion, who asks, and nil = the app.
    package let user: UserName?
    let authority: Authority
    /// When the registration expires; nil = never.
    let expires: Timestamp?
    /// How many live registrations the user may have; nil = any number.
    package let most: Int?

    /// - Parameters:
    ///   - request: The change.
    ///   - job: Its job.
    ///   - authority: nil = that which the request has.
    ///   - now: The time by the clock that does not jump.
    package init(_ request: RegisterRequest, of job: RegisterJob, _ authority: Authority? = nil, at now: Timestamp) {
        self.sequence = job.sequence
        self.user = request.onBehalf.map(\.user) ?? job.user
        self.authority = authority ?? (request.onBehalf == nil ? .owner : .app)
        // What ends sooner counts.
        self.expires = [job.lifetime.map(now.advanced), request.expires].compactMap { $0 }.min()
        self.most = job.most
    }
}
