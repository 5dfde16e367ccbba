package import PushModel
import Store

extension RegisteringScenario {
    /// Registers a device as its app does: by asking for an id, and putting it.
    @discardableResult
    package func register(
        user: String,
        handle: String,
        pns: PushService = .apns,
        tags: [String] = [],
        app: AppID = .default,
        lifetime: Duration? = nil
    ) async throws -> RegistrationID {
        let candidate = RegistrationID.random()
        let issued = try await self.devices.register(
            .issue(candidate: candidate, handles: [Handle(stored: handle)]),
            of: RegisterJob(app: app, sequence: try await self.sequence(app: app))
        )
        guard case .issued(let id)? = issued else { throw Unexpected(String(describing: issued)) }
        let result = try await self.upsert(
            id,
            user: user,
            handle: handle,
            pns: pns,
            tags: tags,
            app: app,
            lifetime: lifetime
        )
        guard result == .done else { throw Unexpected(String(describing: result)) }
        return id
    }

    /// A handle of a browser's endpoint, each time with other keys.
    package func browser(_ name: String) throws -> String {
        let subscription = WebPushSubscription(
            endpoint: try WebPushEndpoint("https://push.example.com/" + name),
            publicKey: (0..<65).map { $0 == 0 ? 4 : UInt8.random(in: .min ... .max) },
            authenticationSecret: (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        )
        return subscription.handle
    }

    package func upsert(
        _ id: RegistrationID,
        user: String?,
        handle: String,
        pns: PushService = .apns,
        tags: [String] = [],
        app: AppID = .default,
        sequence: Int64? = nil,
        lifetime: Duration? = nil
    ) async throws -> RegisterResult? {
        let number: Int64
        if let sequence { number = sequence } else { number = try await self.sequence(app: app) }
        return try await self.devices.register(
            .upsert(id, .init(pns: pns, handle: Handle(stored: handle), tags: try tags.map { try Tag($0, .folded) })),
            of: RegisterJob(
                app: app,
                user: try user.map { try UserName($0, .folded) },
                sequence: number,
                lifetime: lifetime
            )
        )
    }

    /// The sequence of a new register job.
    package func sequence(app: AppID = .default) async throws -> Int64 {
        let new = NewJob(
            app: app,
            work: .register(.delete(.random())),
            lifetime: .seconds(86400)
        )
        let job = try await self.accept(new)
        _ = try await self.devices.finishRegister(job.id, result: .done)
        return job.sequence
    }
}
