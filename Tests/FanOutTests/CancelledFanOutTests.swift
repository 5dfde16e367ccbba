import Broker
import Foundation
import Hub
import Logging
import PushModel
import Store
import StoreKit
import StoreSQL
import StoreSQLite
import Testing
import Undisturbed

@testable import Pipeline

/// A send that is cancelled while its devices are found: the fan-out ends with its step, whatever it would cost to the end.
@Suite(.timeLimit(.minutes(3)), .undisturbed) struct CancelledFanOutTests {
    private static let tags = 20

    private static func run(_ body: (SQLiteStore, EmbeddedFanOut, AppSpec) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pushline-hub-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var configuration = SQLiteStore.Configuration(path: folder.appending(path: "store.sqlite").path)
        configuration.window = InFlightWindow(devices: 1 << 20, messages: 1 << 20)
        let store = try await SQLiteStore.open(configuration)
        var spec = AppSpec()
        spec.fcm = AppSpec.FCM { $0.serviceAccountFile = "fcm.json" }
        _ = try await store.apply(.app(.default, spec))
        let broker = InMemoryBroker()
        try await broker.declare(.pushline)
        try await body(store, EmbeddedFanOut(store: store, broker: broker, logger: Logger(label: "test")), spec)
    }

    private static func register(in store: SQLiteStore, _ count: Int, template: (Int) -> String?) async throws {
        let tags = try (0..<Self.tags).map { try PushModel.Tag("t\($0)", .folded) }
        let rows = (0..<count).map { number in
            ImportedRegistration(
                pns: .fcm,
                handle: Handle(stored: "h\(number)"),
                tags: tags,
                template: template(number).map { DeviceTemplate(name: "t", content: .init(body: $0)) }
            )
        }
        for start in stride(from: 0, to: rows.count, by: 500) {
            let some = Array(rows[start..<min(rows.count, start + 500)])
            #expect(
                try await store.importRegistrations(some, app: .default, sequence: nil, lifetime: nil).results
                    .allSatisfy { $0 == .created }
            )
        }
    }

    /// The devices that are in batches: counted at the end of each, and in the progress before.
    private static func reached(_ job: Job) -> Int {
        max(job.counts[.fcm]?.targets ?? 0, job.progress?.services[.fcm]?.devices ?? 0)
    }

    /// Fans it out until some of it is in batches, and cancels it then, as `DELETE /api/jobs/{id}` does.
    private static func expectEnd(
        of send: SendRequest,
        to devices: Int,
        _ store: SQLiteStore,
        _ fanOut: EmbeddedFanOut,
        _ spec: AppSpec
    ) async throws {
        let new = NewJob(app: .default, work: .send(send), lifetime: .seconds(600))
        let accepted = try await store.accept([new])
        let message = try #require(accepted.messages.first)
        let claim = try #require(try await store.claim(message.id, peeking: false))
        let advancing = Task { try await fanOut.advance(claim, spec: spec, budget: .seconds(600)) }
        while try await store.job(new.id, app: .default).map(Self.reached) == 0 {
            try await Task.sleep(for: .milliseconds(2))
        }
        _ = try await store.cancel(new.id, app: .default)
        guard case .lost = try await advancing.value.progress else {
            Issue.record("it went on")
            return
        }
        let job = try #require(try await store.job(new.id, app: .default))
        #expect([.cancelling, .cancelled].contains(job.state))
        #expect((1..<devices).contains(Self.reached(job)))
    }

    @Test func anExpressionOfAsManyTagsAsThereMayBe() async throws {
        try await Self.run { store, fanOut, spec in
            // Several steps.
            let count = 20_000
            try await Self.register(in: store, count) { _ in nil }
            let operands = (0..<TagExpression.maximumOperands).map { "t\($0 % Self.tags)" }
            let expression = try TagExpression(parsing: operands.joined(separator: "&&"), .folded)
            let send = SendRequest(to: .tags(expression), content: .message(.init(body: "x")))
            try await Self.expectEnd(of: send, to: count, store, fanOut, spec)
        }
    }

    @Test func templatesAsLargeAsTheyMayBe() async throws {
        try await Self.run { store, fanOut, spec in
            // More than a step has.
            let count = 350
            let clips = "{" + String(repeating: ".(a,1)+", count: 1900) + "'x'}"
            try await Self.register(in: store, count) { #"{"message":{"data":{"n":"\#($0)","a":"\#(clips)"}}}"# }
            let send = SendRequest(
                audience: .tag(try PushModel.Tag("t0", .folded)),
                content: .template(.init(["a": "x" + String(repeating: "\u{301}", count: 29_000)]))
            )
            try await Self.expectEnd(of: send, to: count, store, fanOut, spec)
        }
    }
}
