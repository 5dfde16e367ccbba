import Foundation
import GRDB
import PushModel
import Store
import StoreContract
import StoreKit

@testable import StoreSQLite

/// A store in a folder of its own, which goes when the test ends, on clocks that the test moves.
final class TemporaryStore: Sendable {
    let folder: URL
    let store: SQLiteStore
    let time: TestTime

    init(
        maximumBacklog: Int? = nil,
        timeout: Duration = .seconds(5),
        window: InFlightWindow = InFlightWindow(),
        limits: AudienceReadLimits = AudienceReadLimits(),
        digestMask: UInt64 = .max,
        time: TestTime = TestTime()
    ) throws {
        self.folder = FileManager.default.temporaryDirectory.appendingPathComponent("pushline-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        self.time = time
        var configuration = SQLiteStore.Configuration(
            path: self.folder.appendingPathComponent("store.sqlite").path,
            maximumBacklog: maximumBacklog,
            timeout: timeout
        )
        configuration.window = window
        configuration.audienceReadLimits = limits
        configuration.digestMask = digestMask
        self.store = try SQLiteStore(configuration: configuration, source: time)
        try self.store.pool.writeWithoutTransaction { try $0.execute(sql: JobTransition.trigger) }
    }

    /// What most tests need of it.
    var scenario: Scenario { Scenario(store: self.store, time: self.time) }

    /// Another store on the same file, as another process would have it.
    func another(time: TestTime? = nil) throws -> SQLiteStore {
        try SQLiteStore(configuration: self.store.configuration, source: time ?? self.time)
    }

    deinit {
        // Nothing can be done about a folder that does not go away.
        try? FileManager.default.removeItem(at: self.folder)
    }
}

extension JobTransition {
    /// Fails on any change of a job's state that no transition lists, whatever statement makes it.
    static var trigger: String {
        let steps = Set(Self.allCases.flatMap(\.steps).map { "(\($0.from.number), \($0.to.number))" })
        return """
            CREATE TRIGGER IF NOT EXISTS job_transition BEFORE UPDATE OF state ON job
            WHEN old.state <> new.state AND (old.state, new.state) NOT IN (VALUES \(steps.sorted().joined(separator: ", ")))
            BEGIN SELECT RAISE(ABORT, 'no transition leads from the one state of a job to the other'); END
            """
    }
}
