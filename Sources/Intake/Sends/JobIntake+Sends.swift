package import PushModel
import PushlineLogging
package import Store

extension JobIntake {
    /// The job of a send.
    ///
    /// - Parameters:
    ///   - send: The send.
    ///   - caller: Who sends; the app is the caller's.
    ///   - spec: The app's declaration.
    ///   - idempotency: What makes a repetition the same send; nil = each is another.
    /// - Returns: The job, to be accepted.
    /// - Throws: `Refusal` for what the app's hub cannot take.
    package func job(
        of send: NewSend,
        from caller: Caller,
        spec: AppSpec,
        idempotency: NewJob.Idempotency?
    ) throws(Refusal) -> NewJob {
        var addressed: HubAddressing?
        if let hub = spec.azureHub { addressed = try HubAddressing(send.request, send.recipients, at: hub) }
        return NewJob(
            app: caller.app,
            user: caller.user,
            key: caller.key,
            priority: send.priority,
            work: .send(addressed?.send ?? send.request),
            lifetime: self.lifetime(of: send.request),
            idempotency: idempotency,
            startsAt: send.startsAt.flatMap { $0 > .now ? $0 : nil },
            notification: send.notification,
            label: send.label,
            recipients: addressed?.recipients ?? send.recipients,
            request: LogContext.request
        )
    }

    /// A time to live bounds the job too; 0 is one try, whenever its turn comes within the usual life of a job.
    private func lifetime(of send: SendRequest) -> Duration {
        guard let ttl = send.timeToLive, ttl > .zero else { return self.jobLifetime }
        return ttl
    }
}
