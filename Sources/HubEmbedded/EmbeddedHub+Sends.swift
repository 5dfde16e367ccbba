package import Hub
package import PushModel
import Store

// Sends, as any hub takes them. Each is a job, which the fan-out divides among the devices.
extension EmbeddedHub {
    package func take(_ send: HubSend) async throws -> String? {
        guard let intake = self.intake else { throw HubError(.refused, "this process takes no sends") }
        return try await intake.take(self.job(of: send)).description
    }

    package func outcome(of id: String, app: AppID) async throws -> HubOutcome {
        guard let id = JobID(id), let job = try await self.store.job(id, app: app), job.work.kind == .send else {
            return .notYet
        }
        let devices = job.counts.values.reduce(into: [:]) { $0.merge($1.hubOutcomes, uniquingKeysWith: +) }
        return .known(HubReport(state: HubSendState(job), devices: devices, job: job))
    }

    private func job(of send: HubSend) -> NewJob {
        let (content, services): (Content, [PushService]) =
            switch send.form {
            case .native(let form): (.native(.init(message: nil, forms: [form])), [form.kind.pns])
            case .template(let properties): (.template(properties), [])
            }
        let audience: SendAudience
        var recipients: RecipientList?
        switch send.audience {
        case .everyone: audience = .all
        case .expression(let expression): audience = .tags(expression)
        case .list(let list): (audience, recipients) = (.list(list.count), list)
        }
        return NewJob(
            app: send.app,
            key: send.caller,
            work: .send(SendRequest(to: audience, platforms: services, content: content)),
            lifetime: self.configuration.jobLifetime,
            // The id of a repetition stands for the whole send.
            idempotency: send.trackingID.map { id in
                let caller = "key:\(send.caller ?? "")"
                return NewJob.Idempotency(caller: caller, route: "hub", key: id, hash: Array(id.utf8))
            },
            startsAt: send.startsAt.flatMap { $0 > .now ? $0 : nil },
            recipients: recipients
        )
    }
}
