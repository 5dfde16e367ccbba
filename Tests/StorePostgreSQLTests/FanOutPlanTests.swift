import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// How the statements of fan-outs are run: by an index, and no further than they need, on tables that are empty and on full ones.
@Suite(.enabled(if: TestServer.isThere), .undisturbed) struct FanOutPlanTests {
    private let steps: FanOutSteps
    private var store: PostgreSQLStore { self.steps.first }

    init() throws { self.steps = try FanOutSteps() }

    private static let users = (0..<100).map { "user\($0)" }

    /// Twenty thousand devices with one tag, and ten thousand messages of jobs.
    private func fill() async throws {
        let rows = try (0..<20_000).map { number in
            ImportedRegistration(
                pns: .apns,
                handle: Handle(stored: "handle \(number)"),
                user: try UserName("user\(number / 2)", .folded),
                tags: [try PushModel.Tag("all", .folded)]
            )
        }
        _ = try await self.store.importRegistrations(rows, app: .default, sequence: nil, lifetime: nil)
        for _ in 0..<20 {
            let jobs = (0..<500).map { _ in
                NewJob(app: .default, work: .register(.delete(.random())), lifetime: .seconds(60))
            }
            _ = try await self.store.accept(jobs)
        }
        let tables = "registration, tagged, tag_name, job, message, batch, cursor, recipient"
        let analysis = PostgreSQLStatement("ANALYZE \(tables)")
        _ = try TestServer.owner(self.steps.stores.fixture.schema).exchange([analysis], until: .now + .seconds(60))
    }

    /// What a step reads and writes.
    private func statements(_ step: FanOutStep, of claim: FanOutClaim) async throws -> [SQLStatement] {
        let message = ClaimedMessage(claim, clock: self.store.clock, rows: OutboxRows.self)
        switch step {
        case .group(let group):
            return try await self.statements(GroupCommit(group, of: message, window: InFlightWindow()))
        case .pages(let pages): return try await self.statements(PageCommit(pages, of: message))
        case .abandon: return []
        }
    }

    private func statements(_ commit: some StepCommit) async throws -> [SQLStatement] {
        commit.reads + (try commit.decide(await self.store.readEach(commit.reads).rows)).writes
    }

    private func groupReads(_ message: MessageID) async throws -> SmallSendReads {
        let rows = try await self.store.rows(SmallSendReads.members(of: message, after: 0))
        return try SmallSendReads(rows, app: 1, .normal, self.store.flowControl)
    }

    @Test(arguments: [false, true]) func eachGoesByAnIndex(isFull: Bool) async throws {
        if isFull { try await self.fill() }
        try await self.steps.register(["large"], devices: SmallSend.maximumDevices + 1)
        let message = try #require(try await self.steps.accept(Self.users + ["large"]).1.first)
        let alone = try #require(try await self.steps.accept(["large"]).1.first)
        let group = try #require(try await self.store.claim(message.id, peeking: true))
        let campaign = try #require(try await self.store.claim(alone.id, peeking: true))
        var statements = try await self.groupReads(message.id).statements
        statements += [SmallSendReads.message(message.id, where: "true")]
        statements += [SmallSendReads.members(of: message.id, after: 0)]
        statements += try await self.statements(self.steps.step(for: group), of: group)
        statements += try await self.statements(self.steps.page(of: campaign, devices: 101), of: campaign)
        statements += CampaignTable.reads(of: 1)
        #expect(statements.count > 30)
        for statement in statements {
            let plan = try await self.steps.stores.fixture.plan(statement)
            #expect(plan.walks(besides: ["backlog", "pause", "rate_limit"]).isEmpty, "\(statement.text)\n\(plan)")
        }
    }

    /// However many registrations there are, and however many devices a tag has.
    @Test func theDevicesOfAGroupAreReadAlone() async throws {
        try await self.fill()
        let tag = try PushModel.Tag("all", .folded)
        let send = SendRequest(audience: .tag(tag), platforms: [], content: .message(.init(body: "b")))
        let all = NewJob(app: .default, work: .send(send), lifetime: .seconds(60))
        let message = try #require(try await self.store.accept(self.steps.sends(to: Self.users) + [all]).messages.first)
        let devices = try #require(try await self.groupReads(message.id).statements.first)
        let plan = try await self.steps.stores.fixture.run(explaining: devices)
        // Two of each user, and one more than a small send has of the tag.
        let most = 2 * Self.users.count + SmallSend.maximumDevices + 1
        // The rows of a part that is run for each send are rounded.
        #expect(try #require(plan.walked) <= most + Self.users.count, "\(plan)")
        let claim = try #require(try await self.store.claim(message.id, peeking: true))
        guard case .group(let sends, _)? = claim.work else { throw Unexpected("\(claim)") }
        #expect(sends.count == Self.users.count + 1 && sends.last?.audience == .large)
        #expect(sends.first?.through == 20_000)
    }

    /// One round trip reads and one writes, with a statement a table.
    @Test func aStepHasAsManyStatementsAsTables() async throws {
        try await self.steps.register(Self.users)
        let message = try #require(try await self.steps.accept(Self.users + ["nobody"]).1.first)
        let group = try #require(try await self.store.claim(message.id, peeking: true))
        let step = try self.steps.step(for: group)
        #expect(try await self.statements(step, of: group).count <= 9)
        let written = try await self.store.commit(step, of: group).written
        #expect(written.isDone && written.deliveries.compactMap { $0 }.count == 1)
        #expect(try await self.steps.faults() == [])
    }
}
