import NIOConcurrencyHelpers
package import PushModel
package import Store

/// What tests need of a store that accepts jobs.
package protocol AcceptingScenario: Sendable {
    var accepting: any JobOutbox { get }

    /// Remembers the message of new jobs.
    func note(_ message: OutboxMessage, jobs: [JobID])

    /// The message that a job was last seen in.
    func message(of job: JobID) throws -> OutboxMessage
}

extension AcceptingScenario {
    package func send(to expression: TagExpression, platforms: [PushService] = []) -> SendRequest {
        SendRequest(audience: expression, platforms: platforms, content: .message(.init(title: "t", body: "b")))
    }

    /// A send that is fanned out page by page, however few have the tag: only sends to one tag share a message.
    package func campaign(to tag: String, platforms: [PushService] = []) throws -> SendRequest {
        self.send(
            to: .any([.tag(try Tag(tag, .folded)), .tag(try Tag("nobody-has-this", .folded))]),
            platforms: platforms
        )
    }

    package func accept(
        _ request: SendRequest,
        app: AppID = .default,
        priority: Priority = .normal,
        lifetime: Duration = .seconds(86400),
        waiter: String? = nil,
        user: UserName? = nil
    ) async throws -> Job {
        try await self.accept(
            NewJob(
                app: app,
                user: user,
                priority: priority,
                work: .send(request),
                lifetime: lifetime,
                waiter: waiter
            )
        )
    }

    /// Accepts a send to a list.
    package func accept(
        _ list: RecipientList,
        platforms: [PushService] = [],
        lifetime: Duration = .seconds(86_400),
        startsAt: Timestamp? = nil
    ) async throws -> Job {
        let send = SendRequest(to: .list(list.count), platforms: platforms, content: .message(.init(body: "b")))
        let work = Job.Work.send(send)
        return try await self.accept(
            NewJob(app: .default, work: work, lifetime: lifetime, startsAt: startsAt, recipients: list)
        )
    }

    /// Accepts one job, and remembers its message.
    package func accept(_ new: NewJob) async throws -> Job {
        let accepted = try await self.accepting.accept([new])
        guard case .accepted(let job) = accepted.answers.first else { throw Unexpected("\(accepted.answers)") }
        if let message = accepted.messages.first { self.note(message, jobs: [job.id]) }
        return job
    }

    /// The job that tells of a rich notification.
    package func job(
        of notification: NewRichNotification,
        app: AppID = .default,
        idempotency: NewJob.Idempotency? = nil
    ) throws -> NewJob {
        NewJob(
            app: app,
            user: notification.sender,
            work: .send(self.send(to: .tag(Tag(user: notification.addressee)))),
            lifetime: .seconds(3600),
            idempotency: idempotency,
            notification: notification
        )
    }

    /// Keeps a rich notification, with its job.
    ///
    /// - Returns: Its id.
    @discardableResult
    package func keep(_ notification: NewRichNotification, app: AppID = .default) async throws -> Int32 {
        _ = try await self.accept(self.job(of: notification, app: app))
        return notification.id
    }

    package func job(_ id: JobID, app: AppID = .default) async throws -> Job {
        guard let job = try await self.accepting.job(id, app: app) else { throw Unexpected("no job") }
        return job
    }
}

/// The same of a store that can do no more.
package struct OutboxScenario: AcceptingScenario {
    package let accepting: any JobOutbox
    private let messages = NIOLockedValueBox<[JobID: OutboxMessage]>([:])

    package init(_ fixture: any OutboxFixture) { self.accepting = fixture.outbox }

    package func note(_ message: OutboxMessage, jobs: [JobID]) {
        self.messages.withLockedValue { messages in for job in jobs { messages[job] = message } }
    }

    package func message(of job: JobID) throws -> OutboxMessage {
        guard let message = self.messages.withLockedValue({ $0[job] }) else { throw Unexpected("no message") }
        return message
    }
}
