import Broker
import Foundation
import Hub
import Logging
import PushModel
import Store
import StoreKit
import StoreSQLite
import Testing

@testable import Pipeline

/// Fan-out goes on where a page of the audience ended early, and ends where the audience does.
@Suite struct PartialPageTests {
    private static func open(_ folder: URL) async throws -> any ResultStore {
        var configuration = SQLiteStore.Configuration(path: folder.appending(path: "store.sqlite").path)
        // Each page ends after 64 rows, whether it found any or not.
        configuration.audienceReadLimits.windows = 64...64
        configuration.audienceReadLimits.maximumCost = 1
        return try await SQLiteStore.open(configuration)
    }

    private static func populate(_ store: any ResultStore) async throws {
        let rows = try (0..<1000).map { number in
            ImportedRegistration(
                pns: .apns,
                handle: Handle(stored: String(repeating: "a", count: 8) + "\(100_000 + number)"),
                tags: try (number < 700 ? ["all"] : ["all", "late"]).map { try Tag($0, .folded) }
            )
        }
        _ = try await store.importRegistrations(rows, app: .default, sequence: 1, lifetime: nil)
    }

    @Test(arguments: [("all && late", 300), ("all && !late", 700), ("late && !all", 0), ("!none", 1000)])
    func everyTargetIsInExactlyOneBatch(text: String, targets: Int) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pushline-hub-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try await Self.open(folder)
        try await Self.populate(store)
        let broker = InMemoryBroker()
        try await broker.declare(.pushline)
        let fanOut = EmbeddedFanOut(store: store, broker: broker, logger: Logger(label: "test"))
        let send = SendRequest(
            audience: try TagExpression(parsing: text, .folded),
            platforms: [.apns],
            content: .message(.init(title: "t", body: "b"))
        )
        let new = NewJob(app: .default, work: .send(send), lifetime: .seconds(600))
        let accepted = try await store.accept([new])
        let message = try #require(accepted.messages.first)
        var claim = try await store.claim(message.id, peeking: false)
        var steps = 0
        while let present = claim, steps < 100 {
            // No app has credentials here: the hub itself records each batch as failed, and no worker is needed.
            switch try await fanOut.advance(present, spec: AppSpec(), budget: .zero).progress {
            case .more(let next, after: _), .blocked(let next, on: _, after: _): claim = next
            case .done, .lost: claim = nil
            }
            steps += 1
        }
        #expect(steps > 5)
        let done = try #require(try await store.job(new.id, app: .default))
        #expect(done.state == .completed)
        #expect(done.isWithoutTargets == (targets == 0))
        #expect((done.counts[.apns]?.targets ?? 0) == targets)
        #expect((done.counts[.apns]?.failed[.misconfigured] ?? 0) == targets)
    }
}
