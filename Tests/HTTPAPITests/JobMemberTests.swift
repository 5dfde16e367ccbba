import Foundation
import PushModel
import Store
import Testing
import Yams

@testable import HTTPAPI

/// The table of a job's members: what jobs have of it, and who else spells them.
@Suite struct JobMemberTests {
    private static let names = Set(JobMember.all.map(\.name))

    private static func job(
        _ work: PushModel.Job.Work,
        state: PushModel.Job.State,
        _ change: (inout Parts) -> Void
    ) -> JobText {
        var parts = Parts()
        change(&parts)
        let isKnown = parts.user != nil
        let job = PushModel.Job(
            id: JobID(high: 1, low: 2),
            sequence: 1,
            app: .default,
            user: parts.user,
            key: isKnown ? "shop" : nil,
            priority: .normal,
            work: work,
            state: state,
            result: parts.result,
            reason: isKnown ? "busy" : nil,
            accepted: .now,
            started: isKnown ? .now : nil,
            finished: isKnown ? .now : nil,
            expires: .now,
            due: isKnown ? .now : nil,
            counts: [.apns: DeliveryCounts()],
            startsAt: isKnown ? .now : nil,
            progress: parts.progress,
            label: parts.label
        )
        var text = JobText(job: job, prefix: "/api/", rates: parts.rates, warnings: parts.warnings)
        text.calls = parts.calls
        return text
    }

    /// What a job may have.
    private struct Parts {
        var user: UserName?
        var label: JobLabel?
        var result: RegisterResult?
        var progress: PushModel.Job.Progress?
        var rates: [PushService: Double]?
        var warnings: [InvalidValue] = []
        var calls: [HubCall]?
    }

    private static func members(_ text: JobText) throws -> Set<String> {
        guard case .object(let members) = try JSONReader.read(text.bytes) else { return [] }
        return Set(members.map(\.name))
    }

    private static func send(_ audience: SendAudience, isDryRun: Bool = false) -> PushModel.Job.Work {
        .send(SendRequest(to: audience, platforms: [.apns], content: .message(.init(body: "b")), isDryRun: isDryRun))
    }

    @Test func everyJobHasTheRequiredOnes() throws {
        let work = PushModel.Job.Work.register(.delete(.random()))
        let members = try Self.members(Self.job(work, state: .queued) { _ in })
        #expect(members == Set(JobMember.all.filter(\.isRequired).map(\.name)))
    }

    @Test func someJobHasEach() throws {
        let user = try UserName("ann", .folded)
        let label = try JobLabel("spring")
        let removal = Self.job(.register(.delete(.random())), state: .completed) { $0.result = .done }
        let tags = try (0..<200).map { try Tag("t\($0)", .folded) }
        let campaign = Self.job(Self.send(.tags(.any(tags)), isDryRun: true), state: .running) {
            ($0.user, $0.label) = (user, label)
            $0.progress = PushModel.Job.Progress([.apns: .init(devices: 1, estimate: 10)])
            $0.rates = [.apns: 1]
            $0.warnings = [InvalidValue(member: "badge", "is dropped")]
        }
        let expression = Self.send(.tags(try TagExpression(parsing: "a && b", .folded)))
        let selected = Self.job(expression, state: .queued) { _ in }
        let list = RecipientCount(kind: .handles, given: 1, count: 1, isAtHub: true)
        let listed = Self.job(Self.send(.list(list)), state: .running) { $0.calls = [] }
        let found = try [removal, campaign, selected, listed].map(Self.members)
            .reduce(into: Set<String>()) { $0.formUnion($1) }
        #expect(found == Self.names)
    }

    /// PushlineClient writes them by hand; paths are its own.
    @Test func theClientHasEach() throws {
        let text = #"{"id":"","app":"","kind":"","state":"","isFinal":true,"priority":"","accepted":0,"expires":0}"#
        let job = try JSONDecoder().decode(ClientJob.self, from: Data(text.utf8))
        let members = Set(Mirror(reflecting: job).children.compactMap { $0.label })
        #expect(members == Self.names.subtracting(["href"]))
    }

    /// Editors and other tools read it as it stands.
    @Test func theFileOfTheDescriptionIsYAML() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Sources/CResources/openapi.yaml")
        let document = try Yams.compose(yaml: String(contentsOf: file, encoding: .utf8))
        #expect(document?["components"]?["schemas"]?["Job"]?["properties"] != nil)
    }
}
