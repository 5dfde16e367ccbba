import Foundation
import PushlineMetrics
import Testing

/// The table of metrics is what the program uses, what the documentation tells, and as Prometheus wants it.
@Suite struct MetricTableTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    @Test(arguments: MetricDescription.all.map(\.name)) func namesFollowPrometheusConventions(name: String) throws {
        let metric = try #require(MetricDescription.named[name])
        let isStandard = name == "http_server_request_duration_seconds" || name.hasPrefix("process_")
        #expect(name.hasPrefix("pushline_") || isStandard)
        #expect(name.hasSuffix("_total") == (metric.kind == .counter))
        #expect(name == Labels.identifier(name))
        #expect((metric.kind == .histogram) == !metric.bounds.isEmpty)
        #expect(metric.bounds == metric.bounds.sorted())
        // What would need escaping in the exposition or end a cell of the documentation.
        #expect(!metric.help.isEmpty && !metric.help.contains { "\n\\|".contains($0) })
    }

    @Test func everyDeclaredMetricIsInTheTable() throws {
        let text = try ["All", "Process"].map { part in
            let file = Self.root.appending(path: "Sources/PushlineMetrics/MetricDescription+\(part).swift")
            return try String(contentsOf: file, encoding: .utf8)
        }.joined()
        #expect(text.matches(of: /package static let \w+ = MetricDescription\(/).count == MetricDescription.all.count)
    }

    @Test func metricNamesOccurOnlyInTheTable() throws {
        let sources = Self.root.appending(path: "Sources")
        let files = try #require(FileManager.default.enumerator(atPath: sources.path)).compactMap { $0 as? String }
        for file in files where file.hasSuffix(".swift") && !file.hasPrefix("PushlineMetrics/") {
            let text = try String(contentsOf: sources.appending(path: file), encoding: .utf8)
            let made = text.matches(of: /\b(Counter|FloatingPointCounter|Gauge|Meter|Recorder|Timer)\(\s*label:/)
            #expect(made.isEmpty, "\(file) names a metric that is not in MetricDescription.all")
        }
    }

    private static let documentation = Self.root.appending(path: "docs/operations.md")
    private static let head = "| metric | process | type | labels | what it says |\n| --- | --- | --- | --- | --- |\n"

    private static var rows: String {
        MetricDescription.all.map { metric in
            let labels = metric.labels.map { "`\($0.rawValue)`" }.joined(separator: ", ")
            let isEverywhere = metric.processes == MetricDescription.Process.allCases
            let processes = isEverywhere ? "all" : metric.processes.map(\.rawValue).joined(separator: ", ")
            return "| `\(metric.name)` | \(processes) | \(metric.kind.rawValue) | \(labels) | \(metric.help) |\n"
        }.joined()
    }

    /// With `PUSHLINE_WRITE_DOCS=1` it writes the table instead.
    @Test func theDocumentationHasTheTable() throws {
        var text = try String(contentsOf: Self.documentation, encoding: .utf8)
        let start = try #require(text.range(of: Self.head)?.upperBound, "docs/operations.md has no table of metrics")
        let end = try #require(text.range(of: "\n\n", range: start..<text.endIndex)?.lowerBound)
        // The last row's line break belongs to the table.
        let table = start..<text.index(after: end)
        guard text[table] != Self.rows else { return }
        if ProcessInfo.processInfo.environment["PUSHLINE_WRITE_DOCS"] == "1" {
            text.replaceSubrange(table, with: Self.rows)
            try text.write(to: Self.documentation, atomically: true, encoding: .utf8)
        } else {
            Issue.record(
                "docs/operations.md has other metrics than the program: run this test with PUSHLINE_WRITE_DOCS=1"
            )
        }
    }
}
