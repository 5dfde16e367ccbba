import Foundation
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// How all statements are run that any work makes, as the server itself says in its log: by indexes, and past no more rows than a page looks at, on
/// tables that are empty, and on full ones where another app has nearly all.
@Suite(.enabled(if: TestServer.isThere), .serialized, .undisturbed) struct WorkPlanTests {
    /// A plan that the server has made.
    private struct Plan {
        /// A statement, and how it is run.
        var text: String
        var faults: [String] = []
    }

    private static let steps = 150

    /// The server explains each statement of a connection that says so; only a superuser may.
    private static let explaining = [
        "session_preload_libraries=auto_explain", "auto_explain.log_min_duration=0", "auto_explain.log_settings=on",
        "auto_explain.log_analyze=on", "auto_explain.log_timing=off",
    ].map { "%20-c\($0.replacing("=", with: "%3D"))" }.joined()

    @Test(arguments: [false, true]) func everyStatementGoesByAnIndex(isFull: Bool) async throws {
        let keep = try StoreAdministration(StoreOptions())
        if isFull { try await keep.fill() }
        let store = try PostgreSQLStore(
            TestServer.addresses(.owner, schema: "\(keep.schema)\(Self.explaining)"),
            clock: keep.engine.clock,
            limits: JobLimits(backlog: 1000),
            deadlines: TestServer.deadlines
        )
        var work = try RandomWork(store, keep.time, seed: 7)
        work.mostPages = 2
        for number in 0..<Self.steps { _ = try await work.step(number) }
        _ = try await work.view(0)
        let plans = try Self.plans(of: keep.schema)
        #expect(plans.count > 1000)
        for plan in plans where !plan.faults.isEmpty {
            Issue.record("\(plan.faults.joined(separator: "\n"))\n\(plan.text)")
        }
    }

    /// What the log says of the statements at tables of a schema, each text once.
    private static func plans(of schema: String) throws -> [Plan] {
        let log = try String(contentsOfFile: TestServer.file("newer.log"), encoding: .utf8)
        var (plans, entry) = ([Plan](), [Substring]())
        func end() {
            defer { entry = [] }
            guard entry.first?.contains(" plan:") == true,
                entry.contains(where: { $0.contains("search_path = '\(schema)'") })
            else { return }
            plans.append(Plan(text: entry.joined(separator: "\n"), faults: Self.faults(entry)))
        }
        for line in log.split(separator: "\n") {
            if !line.hasPrefix("\t") { end() }
            entry.append(line)
        }
        end()
        return plans
    }

    /// These have a handful of rows, or are summed up.
    private static let small: Set = [
        "backlog", "pause", "rate_limit", "app", "overdue", "leader", "hub_rule", "api_key", "credential", "writer",
        "store_version", "store_key", "dead_number",
    ]

    /// The most rows that a page looks at: so many are counted of what there is, and of a filtered list 5,000 jobs are looked at.
    private static let mostWalked = 10_100

    /// These add up what an app has, when one uploads or an operator asks.
    private static let sums = ["FROM rich_count", "FROM content_usage", "GROUP BY credential.pns, credential.name"]

    /// Of accounts no index has an app's in the order of their list, which operators alone ask for.
    private static let accounts = "password FROM account"

    /// What costs more the more rows there are.
    private static func faults(_ entry: [Substring]) -> [String] {
        let plan = QueryPlan(entry.map(String.init))
        let isSum = (self.sums + [self.accounts]).contains { words in "\(plan)".contains(words) }
        let walked = isSum ? 0 : plan.walked ?? 0
        return plan.walks(besides: self.small) + (walked > self.mostWalked ? ["\(walked) rows are looked at"] : [])
    }
}
