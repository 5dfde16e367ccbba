import PushModel
import Store
import Testing

/// What the tests of removals need: a user of whom there is much, and the removal.
struct RemovalScenario: Sendable {
    let fixture: any StoreFixture
    let scenario: Scenario
    var store: any ResultStore { self.scenario.store }

    /// A name that stands in nothing else.
    static let name = "zoewasher"

    init() throws {
        self.fixture = try StoreFixtures.make()
        self.scenario = Scenario(self.fixture)
    }

    func user(_ name: String = Self.name) throws -> UserName { try UserName(name, .folded) }

    func account(_ name: String, _ role: Role = .user) async throws {
        let account = Account(app: .default, name: try self.user(name), role: role, isDisabled: false, created: .now)
        try await self.store.apply(.account(.put(account, passwordHash: "h")))
    }

    func key(_ name: String = "root") async throws {
        let key = APIKey(app: .default, name: name, role: .operator, created: .now, revoked: nil)
        try await self.store.apply(.key(.add(key, hash: Array(name.utf8))))
    }

    func removal(of user: UserName, withAccount: Bool = true) -> NewJob {
        NewJob(
            app: .default,
            key: "root",
            work: .register(.removeUser(user, withAccount: withAccount)),
            lifetime: NewJob.removalLifetime
        )
    }

    func begin(_ name: String = Self.name) async throws -> Job {
        try await self.scenario.accept(self.removal(of: self.user(name)))
    }

    /// Does all parts of a removal, as a worker does.
    @discardableResult
    func finish(_ job: Job) async throws -> RegisterResult {
        while true {
            guard let result = try await self.store.register(job) else { continue }
            _ = try await self.store.finishRegister(job.id, result: result)
            return result
        }
    }

    func upsert(_ handle: String, for user: String? = nil) throws -> RegisterRequest.Upsert {
        RegisterRequest.Upsert(
            pns: .apns,
            handle: Handle(stored: handle),
            tags: [],
            onBehalf: try user.map { .init(of: try self.user($0)) }
        )
    }

    func accept(_ request: RegisterRequest, user: String? = nil) async throws -> Job {
        try await self.scenario.accept(
            NewJob(
                app: .default,
                user: try user.map { try self.user($0) },
                work: .register(request),
                lifetime: .seconds(3600)
            )
        )
    }

    func send(to text: String, by user: String? = nil) async throws -> Job {
        try await self.scenario.accept(
            self.scenario.send(to: TagExpression(parsing: text, .folded)),
            user: try user.map { try self.user($0) }
        )
    }

    func expectSound(_ sourceLocation: SourceLocation = #_sourceLocation) async throws {
        #expect(try await self.scenario.auditFaults() == [], sourceLocation: sourceLocation)
        #expect(try await self.fixture.faults() == [], sourceLocation: sourceLocation)
    }

    func die(_ job: Job) async throws {
        try await self.scenario.deadLetter("\(self.scenario.message(of: job.id).id)", type: "register")
    }
}
