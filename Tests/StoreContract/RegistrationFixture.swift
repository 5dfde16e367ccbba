package import PushModel
package import Store

/// Devices, and the apps and jobs that change them.
package typealias DeviceStore = AudienceStore & JobOutbox & RegistrationStore

/// A store that has registrations.
package protocol RegistrationFixture: OutboxFixture {
    var devices: any DeviceStore { get }

    /// Leaves what push services say of handles, as the outcome of a send to a tag does.
    ///
    /// - Parameters:
    ///   - dead: The handles.
    ///   - tag: The tag.
    ///   - accepted: How many devices have it.
    /// - Throws: The store's error.
    func leave(_ dead: [DeadHandle], tag: String, accepted: Int) async throws

    /// Does a chore of registrations.
    @discardableResult
    func perform(_ chore: Chore, limit: Int) async throws -> ChoreChunk

    /// What the driver's own check of what is stored finds wrong; empty = nothing.
    func faults() async throws -> [String]
}

extension StoreFixture {
    package var devices: any DeviceStore { self.store }

    package func leave(_ dead: [DeadHandle], tag: String, accepted: Int) async throws {
        let scenario = Scenario(self)
        let job = try await scenario.accept(scenario.campaign(to: tag))
        guard let key = try await scenario.fanOut(job).first else { throw Unexpected("nobody has the tag") }
        let outcome = BatchOutcome(key: key, accepted: accepted, deadHandles: dead, at: self.time.wall)
        guard try await scenario.record(outcome) else { throw Unexpected("the outcome was not recorded") }
    }

    @discardableResult
    package func perform(_ chore: Chore, limit: Int) async throws -> ChoreChunk {
        try await self.store.perform(chore, limit: limit)
    }
}

/// What tests need of a store that has registrations.
package protocol RegisteringScenario: AcceptingScenario {
    var devices: any DeviceStore { get }
}

/// The same of a store that can do no more.
package struct RegistrationScenario: RegisteringScenario {
    private let fixture: any RegistrationFixture
    private let outbox: OutboxScenario

    package init(_ fixture: any RegistrationFixture) {
        (self.fixture, self.outbox) = (fixture, OutboxScenario(fixture))
    }

    package var devices: any DeviceStore { self.fixture.devices }
    package var accepting: any JobOutbox { self.outbox.accepting }

    package func note(_ message: OutboxMessage, jobs: [JobID]) { self.outbox.note(message, jobs: jobs) }

    package func message(of job: JobID) throws -> OutboxMessage { try self.outbox.message(of: job) }

    /// Prunes registrations whose handles push services called dead.
    ///
    /// - Returns: How many marks were taken.
    package func prune(limit: Int) async throws -> Int {
        try await self.fixture.perform(.pruneRegistrations, limit: limit).rows
    }

    /// Ends registrations whose time is over.
    ///
    /// - Returns: How many.
    @discardableResult
    package func expireRegistrations(limit: Int) async throws -> Int {
        try await self.fixture.perform(.expireRegistrations, limit: limit).rows
    }
}
