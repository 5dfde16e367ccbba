package import PushModel
import PushlineLogging
package import Store

extension JobIntake {
    /// What a caller is told whose change did not have its result in time.
    package static let late = "the change is not done yet; it continues, and repeating it is safe"

    /// What a caller is told who changes a registration that was deleted.
    package static let deleted = "the registration was deleted; ask for a new id"

    /// The job of a change of registrations or channels.
    ///
    /// - Parameters:
    ///   - change: The change.
    ///   - user: Who changes a registration of theirs; nil = the app's backend or an operator changes anybody's.
    ///   - caller: Who asks; the app is the caller's.
    ///   - spec: The app's declaration.
    ///   - lifetime: How long it may go on; nil = as long as any job.
    ///   - idempotency: What makes a repetition the same change; nil = a repeat is harmless.
    /// - Returns: The job, to be accepted.
    /// - Throws: `Refusal` for a user whom the app's hub cannot know.
    package func job(
        of change: RegisterRequest,
        user: UserName?,
        from caller: Caller,
        spec: AppSpec,
        lifetime: Duration? = nil,
        idempotency: NewJob.Idempotency? = nil
    ) throws(Refusal) -> NewJob {
        if spec.azureHub != nil, let owner = change.onBehalf?.user ?? user { try HubAddressing.check(owner) }
        return NewJob(
            app: caller.app,
            user: user,
            key: caller.key,
            // A device that registers does not wait for the thousands that a backend brings, nor for Apple.
            priority: caller.actsForApp || change.channels != nil ? .normal : .high,
            work: .register(change),
            lifetime: lifetime ?? self.jobLifetime,
            idempotency: idempotency,
            request: LogContext.request
        )
    }
}

extension RegisterRequest {
    /// Whether it changes nothing: its answer is of use to whoever waits for it alone.
    package var isQuestion: Bool { self.channels?.isQuestion == true }

    fileprivate var channels: ChannelRequest? { if case .channel(let request) = self { request } else { nil } }
}
