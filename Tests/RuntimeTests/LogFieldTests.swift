import Foundation
import LogRecorder
import Logging
import PushModel
import PushlineLogging
import Testing
import Undisturbed

/// The fields of the log are those that the documentation tells, and the task's context is in its lines.
@Suite(.undisturbed) struct LogFieldTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The fields that a file of ours gives to lines.
    ///
    /// - Throws: What has no literal name, for the table could not have it.
    private static func fields(of text: String) throws -> [String] {
        guard text.contains(/(?m)^(package |public )?import Logging$/) else { return [] }
        // A value is always a text with something in it, and a name is never put together.
        #expect(!text.contains("MetadataValue") && !text.contains(".stringConvertible("))
        #expect(text.firstMatch(of: /"[^"\n]*\\\([^"\n]*": "/) == nil)
        let literals = text.matches(of: /"([a-z][^"\s]*)":\s+"/).map { String($0.1) }
        return literals
            + text.matches(of: /\[metadataKey: "([^"]+)"\]/).map { String($0.1) }
            + text.matches(of: /metadata\["([^"]+)"\]/).map { String($0.1) }
    }

    private static var used: Set<String> {
        get throws {
            let sources = Self.root.appending(path: "Sources")
            let files = try #require(FileManager.default.enumerator(atPath: sources.path)).compactMap { $0 as? String }
            return try files.filter { $0.hasSuffix(".swift") }.reduce(into: []) { used, file in
                used.formUnion(
                    try Self.fields(of: String(contentsOf: sources.appending(path: file), encoding: .utf8))
                )
            }
        }
    }

    private static var documented: [String] {
        get throws {
            let text = try String(contentsOf: Self.root.appending(path: "docs/operations.md"), encoding: .utf8)
            let head = "| field | in lines of | what it says |\n| --- | --- | --- |\n"
            let start = try #require(text.range(of: head)?.upperBound, "docs/operations.md has no table of log fields")
            let lines = text[start...].split(separator: "\n", omittingEmptySubsequences: false)
            let rows = lines.prefix { $0.hasPrefix("|") }
            return rows.flatMap { row in
                row.split(separator: "|")[0].matches(of: /`([^`]+)`/).map { String($0.1) }
            }
        }
    }

    @Test func theDocumentationHasEachFieldThatIsUsedAndNoOther() throws {
        let (used, documented) = (try Self.used, try Self.documented)
        #expect(used.subtracting(documented) == [], "in Sources, and not in the table of docs/operations.md")
        #expect(Set(documented).subtracting(used) == [], "in the table of docs/operations.md, and not in Sources")
        #expect(documented == documented.sorted() && Set(documented).count == documented.count)
        for name in documented {
            #expect(name.wholeMatch(of: /[a-z][a-z_]*(\.[a-z_]+)*/) != nil, "\(name)")
        }
    }

    @Test func namesAreFoundInEveryForm() throws {
        let text = """
            import Logging
            logger.info("x", metadata: ["a.b": "\\(1)", "c":
                "d"])
            logger[metadataKey: "e"] = "f"
            metadata["g"] = "h"
            """
        #expect(try Self.fields(of: text) == ["a.b", "c", "e", "g"])
    }

    // MARK: The context

    @Test func linesOfATaskAndItsChildrenHaveItsContext() async throws {
        let log = LogRecorder()
        let (logger, job) = (log.logger(.info), JobID.make())
        await LogContext.$current.withValue(LogContext(request: "r")) {
            logger.info("first")
            LogContext.add(job: job)
            await withTaskGroup(of: Void.self) { $0.addTask { logger.info("child", metadata: ["job.id": "mine"]) } }
            await Task { logger.info("task") }.value
        }
        logger.info("outside")
        #expect(
            log.lines.map(\.fields) == [
                ["request.id": "r"], ["request.id": "r", "job.id": "mine"], ["request.id": "r", "job.id": "\(job)"],
                [:],
            ]
        )
    }

    @Test func jobsAreNamedOnceAndWithinALimit() async throws {
        let jobs = (0..<OutboxMessage.maximumMembers + 9).map { _ in JobID.make() }
        #expect(LogContext.text(jobs.prefix(2) + jobs.prefix(2)) == "\(jobs[0]),\(jobs[1])")
        let context = LogContext(request: "r")
        LogContext.$current.withValue(context) { for job in jobs { LogContext.add(job: job) } }
        let names = try #require(context.metadata["job.id"]?.description.split(separator: ","))
        #expect(names.count == OutboxMessage.maximumMembers + 1 && names.last == "…" && names.first == "\(jobs[0])")
        LogContext.set(jobs: jobs.map { JobTrace($0) })
        #expect(LogContext.current == nil)
    }

    /// A message's jobs may be of several requests, and some of nobody knows which.
    @Test func requestsAreThoseOfTheJobs() throws {
        let (one, other) = (try #require(RequestID("r-1")), try #require(RequestID("r-2")))
        let jobs = (0..<4).map { _ in JobID.make() }
        let context = LogContext(message: "7", of: "q")
        LogContext.$current.withValue(context) {
            LogContext.set(jobs: jobs.map { JobTrace($0) })
            #expect(context.metadata["request.id"] == nil && LogContext.request == nil)
            LogContext.set(jobs: zip(jobs, [one, nil, other, one]).map { JobTrace($0, request: $1) })
            #expect(context.metadata["request.id"] == "r-1,r-2")
        }
        LogContext.$current.withValue(LogContext(request: "mine")) {
            LogContext.set(jobs: [JobTrace(jobs[0], request: one)])
            #expect(LogContext.current?.metadata["request.id"] == "mine" && LogContext.request == RequestID("mine"))
        }
        // No header is taken for an id that could not stand in a line.
        LogContext.$current.withValue(LogContext(request: "a,b")) { #expect(LogContext.request == nil) }
    }

    /// Of a request that is traced, and of the jobs of such: each trace once.
    @Test func tracesAreThoseOfTheRequests() throws {
        let spans = (0..<2).map { _ in SpanContext(trace: .random(), span: .random(), isSampled: true) }
        LogContext.$current.withValue(LogContext(request: "r")) {
            #expect(LogContext.current?.metadata["trace_id"] == nil && LogContext.request?.span == nil)
            LogContext.set(span: spans[0])
            #expect(LogContext.current?.metadata["trace_id"] == "\(spans[0].trace)")
            #expect(LogContext.request?.span == spans[0])
        }
        let requests = try [spans[0], nil, spans[1], spans[0]].map { try #require(RequestID("r", span: $0)) }
        let context = LogContext(jobs: requests.map { JobTrace(.make(), request: $0) })
        #expect(context.metadata["trace_id"] == "\(spans[0].trace),\(spans[1].trace)")
    }
}
