import PushModel
import Store
import StoreSQLite

/// A store in which a copy of a batch is recorded by another worker just before its starts are counted.
struct ClosingStore: OutcomeSink, PauseStore {
    let base: SQLiteStore

    func raiseStarts(batch: BatchKey) async throws -> Int {
        _ = try await self.base.record(BatchOutcome(key: batch, accepted: 1, at: .now))
        return try await self.base.raiseStarts(batch: batch)
    }

    func standing(of batches: [BatchKey]) async throws -> [BatchKey: BatchStanding] {
        try await self.base.standing(of: batches)
    }

    func standing(of batches: [BatchKey], in parcel: ParcelID) async throws -> [PlacedStanding] {
        try await self.base.standing(of: batches, in: parcel)
    }

    func record(_ outcome: BatchOutcome) async throws -> Bool { try await self.base.record(outcome) }

    func record(together outcomes: [BatchOutcome]) async throws -> [Bool] {
        try await self.base.record(together: outcomes)
    }

    func takeApart(_ parcel: ParcelID) async throws { try await self.base.takeApart(parcel) }

    func park(_ batch: BatchKey, for pause: Duration, reason: String) async throws -> Bool {
        try await self.base.park(batch, for: pause, reason: reason)
    }

    func park(_ parcel: ParcelID, for pause: Duration, reason: String) async throws {
        try await self.base.park(parcel, for: pause, reason: reason)
    }

    func users(ofLive rows: [Int64]) async throws -> [UserName?] { try await self.base.users(ofLive: rows) }

    func pauses() async throws -> [Pause] { try await self.base.pauses() }

    func pause(_ queue: WorkQueue, app: AppID?, by caller: String) async throws {
        try await self.base.pause(queue, app: app, by: caller)
    }

    func resume(_ queue: WorkQueue, app: AppID?) async throws -> Bool { try await self.base.resume(queue, app: app) }

    func hold(_ job: JobID) async throws { try await self.base.hold(job) }

    func hold(_ bundle: BundleID) async throws { try await self.base.hold(bundle) }

    func load(of app: AppID) async throws -> [WorkQueue: QueueLoad] { try await self.base.load(of: app) }
}
