import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// What is admitted by two stores that have both read before either writes: an app's first job or registration beside its declaration, members
/// of one message, and limits, which are exceeded by what the other admits at the same time (rule 12).
@Suite(.enabled(if: TestServer.isThere), .undisturbed) struct AdmissionInterleavingTests {
    private func sends(_ count: Int, _ priority: Priority = .normal) throws -> [NewJob] {
        let tag = PushModel.Tag(user: try UserName("ann", .folded))
        let send = SendRequest(audience: .tag(tag), platforms: [], content: .message(.init(body: "b")))
        return (0..<count).map { _ in
            NewJob(app: .default, priority: priority, work: .send(send), lifetime: .seconds(3600))
        }
    }

    private func changes(_ count: Int) -> [NewJob] {
        (0..<count).map { _ in
            NewJob(app: .default, work: .register(.delete(.random())), lifetime: .seconds(3600))
        }
    }

    // MARK: An app's first

    enum Order: CaseIterable { case declarationLast, declarationFirst }
    enum FirstOfApp: CaseIterable { case job, registration }

    /// The declaration has seen that the app has nothing.
    @Test(arguments: FirstOfApp.allCases, Order.allCases)
    func theFirstOfAnAppFixesItsHub(kind: FirstOfApp, order: Order) async throws {
        let stores = try TwoStores()
        try await stores.first.apply(.app(.default, AppSpec()))
        let begun = try await stores.first.beginImport()
        _ = try await stores.first.number(of: .default)
        var spec = AppSpec()
        spec.azureHub = AppSpec.AzureHub {
            $0.connectionStringFile = "/secrets/hub"
            $0.name = "shop"
        }
        let (other, jobs) = (spec, self.changes(1))
        let row = ImportedRegistration(pns: .apns, handle: Handle(stored: "aa"))
        @Sendable func add() async throws {
            switch kind {
            case .job: _ = try await stores.first.accept(jobs)
            case .registration:
                _ = try await stores.first.importRegistrations([row], app: .default, sequence: begun, lifetime: nil)
            }
        }
        @Sendable func declare() async throws -> StoreError.Code? {
            do {
                try await stores.second.apply(.app(.default, other))
                return nil
            } catch let error as StoreError { return error.code }
        }
        let gate = try stores.gate("app")
        switch order {
        case .declarationLast:
            async let added: Void = add()
            try await gate.wait(for: 1)
            async let declared = declare()
            try await gate.wait(for: 2)
            try gate.open()
            try await added
            #expect(try await declared == .conflict)
        case .declarationFirst:
            async let declared = declare()
            try await gate.wait(for: 1)
            async let added: Void = add()
            try await gate.wait(for: 2)
            try gate.open()
            #expect(try await declared == nil)
            try await added
        }
        let hub = try await stores.first.app(.default)?.azureHub
        #expect((hub != nil) == (order == .declarationFirst))
    }

    // MARK: Members of a message

    /// Each adds its members to those that are there by then.
    @Test func twoThatJoinAMessageAreBothCounted() async throws {
        let stores = try TwoStores()
        let message = try #require(try await stores.first.accept(self.sends(2)).messages.first)
        let (three, four) = (try self.sends(3), try self.sends(4))
        let release = try stores.hold("message")
        async let one = stores.first.accept(three, joining: message.id)
        async let other = stores.second.accept(four, joining: message.id)
        try await release()
        #expect(try await one.messages.isEmpty)
        #expect(try await other.messages.isEmpty)
        #expect(try await stores.first.redelivered(message.id)?.members == 9)
        let claim = try #require(try await stores.second.claim(message.id, peeking: false))
        guard case .group(let sends, _)? = claim.work else { throw Unexpected("\(claim)") }
        #expect(sends.count == 9)
    }

    /// There was room for each of them alone.
    @Test func twoThatJoinAMessageDoNotOverfillIt() async throws {
        let stores = try TwoStores()
        let (begun, most) = (300, OutboxMessage.maximumMembers)
        let message = try #require(try await stores.first.accept(self.sends(begun)).messages.first)
        let (some, others) = (try self.sends(most - begun), try self.sends(most - begun - 1))
        let release = try stores.hold("message")
        async let one = stores.first.accept(some, joining: message.id)
        async let other = stores.second.accept(others, joining: message.id)
        try await release()
        let new = try await one.messages + other.messages
        // Whoever comes second has a message of its own.
        #expect(new.count == 1)
        let members = try #require(try await stores.first.redelivered(message.id)).members
        #expect(members <= most && members > begun)
        let next = try #require(new.first)
        let own = try #require(try await stores.first.redelivered(next.id)).members
        #expect(members + own == 2 * most - begun - 1)
    }

    // MARK: Limits

    /// Each has seen all of the room, and exceeds it by no more than it admits at a time itself.
    @Test func theBacklogIsExceededByOneGroupOfEachOther() async throws {
        let stores = try TwoStores(JobLimits(backlog: 3))
        try await stores.first.apply(.app(.default, AppSpec()))
        _ = (try await stores.first.number(of: .default), try await stores.second.number(of: .default))
        // While the app has no job both wait for its row.
        let release = try stores.hold("app")
        let (some, others) = (self.changes(3), self.changes(3))
        async let one = stores.first.accept(some)
        async let other = stores.second.accept(others)
        try await release()
        let answers = try await one.answers + other.answers
        #expect(answers.count { $0 == .backlogFull } == 0)
        #expect(try await stores.first.state().jobs == 6)
        for store in [stores.first, stores.second] {
            #expect(try await store.accept(self.changes(1)).answers == [.backlogFull])
        }
    }

    /// The same of the messages that an app may have under way.
    @Test func aWindowOfJobsIsExceededByOneGroupOfEachOther() async throws {
        let stores = try TwoStores(JobLimits(window: InFlightWindow(jobMessages: 2)))
        try await stores.first.apply(.app(.default, AppSpec()))
        _ = (try await stores.first.number(of: .default), try await stores.second.number(of: .default))
        let release = try stores.hold("app")
        let (some, others) = (self.changes(3), self.changes(3))
        async let one = stores.first.accept(some)
        async let other = stores.second.accept(others)
        try await release()
        for accepted in [try await one, try await other] {
            #expect(accepted.messages.count == 2)
            #expect(accepted.deferred.count == 1)
        }
        for store in [stores.first, stores.second] {
            #expect(try await store.accept(self.changes(1)).messages.isEmpty)
        }
    }

    /// The same of the devices that an app may have under way to a service: both have asked for credit before either has a page.
    @Test func aWindowOfDevicesIsExceededByOnePageOfEachOther() async throws {
        let most = DeliverBatch.maximumDevices
        let steps = try FanOutSteps(JobLimits(window: InFlightWindow(devices: most)))
        try await steps.register(["ann"], devices: SmallSend.maximumDevices + 1)
        let (first, second) = (steps.first, steps.second)
        func claim(_ store: PostgreSQLStore) async throws -> FanOutClaim {
            let message = try #require(try await steps.accept(["ann"]).1.first)
            return try #require(try await store.claim(message.id, peeking: false))
        }
        let (one, other) = (try await claim(first), try await claim(second))
        func credit(_ store: PostgreSQLStore) async throws -> Int {
            try await store.credit(for: .page, app: .default, pns: .apns, priority: .normal).devices
        }
        for store in [first, second] { #expect(try await credit(store) == most) }
        let pages = (try steps.page(of: one, devices: most), try steps.page(of: other, devices: most))
        let results = try await steps.together(holding: "job") {
            try await first.commit(pages.0, of: one)
        } _: {
            try await second.commit(pages.1, of: other)
        }
        #expect(try results.0.written.isDone && results.1.written.isDone)
        #expect(try await steps.number("SELECT CAST(sum(size) AS bigint) FROM batch") == 2 * most)
        for store in [first, second] { #expect(try await credit(store) == 0) }
    }
}
