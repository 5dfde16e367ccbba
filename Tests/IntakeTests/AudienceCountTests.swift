import Foundation
import PushModel
import Store
import StoreKit
import StoreSQL
import StoreSQLite
import Testing
import Undisturbed

@testable import Intake

@Suite(.timeLimit(.minutes(2)), .undisturbed) struct AudienceCountTests {
    private static let devices = 4000

    /// A store whose audiences are read row by row, with devices that all have a tag.
    private static func withStore(_ body: (SQLiteStore) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pushline-count-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var configuration = SQLiteStore.Configuration(path: folder.appending(path: "store.sqlite").path)
        configuration.audienceReadLimits.windows = 1...1
        configuration.audienceReadLimits.maximumCost = 0
        let store = try await SQLiteStore.open(configuration)
        _ = try await store.apply(.app(.default, AppSpec()))
        let tags = [try PushModel.Tag("t", .folded)]
        let rows = (0..<Self.devices).map {
            ImportedRegistration(pns: .apns, handle: Handle(stored: String(format: "%064x", $0)), tags: tags)
        }
        for start in stride(from: 0, to: rows.count, by: 1000) {
            let some = Array(rows[start..<(start + 1000)])
            _ = try await store.importRegistrations(some, app: .default, sequence: nil, lifetime: nil)
        }
        try await body(store)
    }

    private static func count(_ counts: AudienceCounts) async throws -> AudienceCounts.Answer {
        try await counts.count(.tags(.tag(try PushModel.Tag("t", .folded))), nil, of: .default, services: [])
    }

    @Test func aCountThatNobodyWaitsForEnds() async throws {
        try await Self.withStore { store in
            let counts = AudienceCounts(store: store, time: .seconds(600))
            let start = ContinuousClock.now
            #expect(try await Self.count(counts).counts.first?.count == Self.devices)
            let whole = ContinuousClock.now - start
            let counting = Task { try await Self.count(counts) }
            try await Task.sleep(for: whole / 8)
            counting.cancel()
            let cancelled = ContinuousClock.now
            await #expect(throws: CancellationError.self) { try await counting.value }
            #expect(ContinuousClock.now - cancelled < whole / 2)
        }
    }
}
