package import PushModel

/// A register job, as far as its change depends on it.
package struct RegisterJob: Sendable {
    package var app: AppID
    /// Who asks; nil = the app's backend or an operator.
    ///
    /// Their own tag is added to what they register, another user's is left out.
    package var user: UserName?
    /// ``Job/sequence``.
    package var sequence: Int64
    /// How long the registration lives, unless the request ends it sooner; nil = for ever.
    package var lifetime: Duration?
    /// The limit of the user's live registrations; nil = none.
    ///
    /// A further one ends the one that was changed longest ago. The same number of ended ones is remembered, beside those of the last day.
    package var most: Int?

    package init(
        app: AppID,
        user: UserName? = nil,
        sequence: Int64,
        lifetime: Duration? = nil,
        most: Int? = nil
    ) {
        self.app = app
        self.user = user
        self.sequence = sequence
        self.lifetime = lifetime
        self.most = most
    }

    /// - Parameters:
    ///   - job: The job.
    ///   - spec: Its app's declaration.
    package init(_ job: Job, _ spec: AppSpec) {
        self.init(
            app: job.app,
            user: job.user,
            sequence: job.sequence,
            lifetime: spec.registrationLifetime,
            most: spec.registrationsPerUser
        )
    }
}
