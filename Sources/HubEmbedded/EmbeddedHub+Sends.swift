package import Hub
package import PushModel
import Store

// Sends, as any hub takes them. Each is a job, which the fan-out divides among the devices.
extension EmbeddedHub {
    package func take(_ send: HubSend) async throws -> String? {
        let job = self.job(of: send)
        do {
            if let intake = self.intake { return try await intake.take(job).description }
            return try await self.accept(job).description
        } catch let error as StoreError { throw HubError(error) }
    }

    package func outcome(of id: String, app: AppID) async throws -> HubOutcome {
        guard let id = JobID(id) else { return .notYet }
        do {
            guard let job = try await self.store.job(id, app: app), job.work.kind == .send else { return .notYet }
            let devices = job.counts.values.reduce(into: [:]) { $0.merge($1.hubOutcomes, uniquingKeysWith: +) }
            return .known(HubReport(state: HubSendState(job), devices: devices, job: job))
        } catch let error as StoreError { throw HubError(error) }
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

    private func accept(_ job: NewJob) async throws -> JobID {
        let accepted = try await self.store.accept([job])
        // What the broker does not take now the sweeper publishes.
        _ = await self.publish([], hints: accepted.messages)
        switch accepted.answers[0] {
        case .accepted(let job): return job.id
        case .repeated(let id): return id
        case .keyReused: throw StoreError(.corrupt, "an id of a repetition stands for two sends")
        case .backlogFull: throw StoreError(.backlogFull, "too many jobs are unfinished")
        }
    }
}

extension HubError {
    /// What a hub cannot do whose store cannot.
    init(_ error: StoreError) {
        self.init(.unavailable(after: error.code == .backlogFull ? .seconds(10) : nil), error.message)
    }
}
