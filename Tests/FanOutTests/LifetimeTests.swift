import Foundation
import Hub
import NIOConcurrencyHelpers
import PushModel
import Store
import StoreKit
import StoreSQLite
import Testing

@testable import Pipeline

/// Registrations live as long as their app says, whatever the wall clock says as they are made; and no more of a user's than it says.
@Suite struct LifetimeTests {
    /// The machine's clocks, with a wall clock that somebody sets.
    private struct JumpingClock: ClockSource {
        let machine: SystemClock
        let jump = NIOLockedValueBox(Duration.zero)

        var wall: Timestamp { self.machine.wall.advanced(by: self.jump.withLockedValue { $0 }) }
        var sinceBoot: Int64 { self.machine.sinceBoot }
        var bootID: String { self.machine.bootID }
    }

    @Test(arguments: [-400, 0, 400])
    func aClockThatJumpedChangesNoLifetime(days: Int) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pushline-hub-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let clock = JumpingClock(machine: try SystemClock())
        let store: any ResultStore = try SQLiteStore(
            configuration: SQLiteStore.Configuration(path: folder.appending(path: "store.sqlite").path),
            source: clock
        )
        let registrations = EmbeddedRegistrations(store: store)
        clock.jump.withLockedValue { $0 = .seconds(days * 86_400) }
        let id = RegistrationID.random()
        let user = try UserName("ann", .folded)
        for request in [
            RegisterRequest.issue(candidate: id, handles: []),
            .upsert(id, .init(pns: .apns, handle: Handle(stored: "aa"), tags: [])),
        ] {
            let new = NewJob(app: .default, user: user, work: .register(request), lifetime: .seconds(600))
            guard case .accepted(let job) = try await store.accept([new]).answers.first else {
                Issue.record("not accepted")
                return
            }
            _ = try await registrations.register(request, for: job, spec: AppSpec { $0.registrationLifetimeDays = 30 })
        }
        let expires = try #require(try await store.registration(id, app: .default)?.expires)
        let left = clock.machine.wall.duration(to: expires)
        #expect(left > .seconds(29 * 86_400) && left < .seconds(31 * 86_400))
    }

    @Test(
        arguments: [(nil, 20, 20), (30, 20, 20), (10, 20, 10), (30, nil, 30), (nil, nil, nil)] as [(Int?, Int?, Int?)]
    )
    func whatEndsSoonerCounts(lifetime: Int?, wanted: Int?, days: Int?) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pushline-hub-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "store.sqlite").path
        let store: any ResultStore = try SQLiteStore(configuration: SQLiteStore.Configuration(path: path))
        let id = RegistrationID.random()
        let upsert = RegisterRequest.Upsert(
            pns: .apns,
            handle: Handle(stored: "aa"),
            tags: [],
            onBehalf: .init(of: nil),
            expires: wanted.map { Timestamp.now.advanced(by: .seconds($0 * 86_400)) }
        )
        let request = RegisterRequest.upsert(id, upsert)
        let new = NewJob(app: .default, work: .register(request), lifetime: .seconds(600))
        guard case .accepted(let job) = try await store.accept([new]).answers.first else {
            Issue.record("not accepted")
            return
        }
        let spec = AppSpec { $0.registrationLifetimeDays = lifetime }
        #expect(try await EmbeddedRegistrations(store: store).register(request, for: job, spec: spec) == .done)
        let expires = try await store.registration(id, app: .default)?.expires
        let left = expires.map { Timestamp.now.duration(to: $0) }
        #expect(left.map { Int(($0.inSeconds / 86_400).rounded()) } == days)
    }

    /// How many live registrations a user has who registers so many devices.
    private func live(registering devices: Int, spec: AppSpec) async throws -> Int {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pushline-hub-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "store.sqlite").path
        let store: any ResultStore = try SQLiteStore(configuration: SQLiteStore.Configuration(path: path))
        let registrations = EmbeddedRegistrations(store: store)
        let user = try UserName("ann", .folded)
        for device in 0..<devices {
            let upsert = RegisterRequest.Upsert(pns: .fcm, handle: Handle(stored: "h\(device)"), tags: [])
            let request = RegisterRequest.upsert(.random(), upsert)
            let new = NewJob(app: .default, user: user, work: .register(request), lifetime: .seconds(600))
            guard case .accepted(let job) = try await store.accept([new]).answers.first else { return -1 }
            #expect(try await registrations.register(request, for: job, spec: spec) == .done)
        }
        let query = RegistrationQuery(app: .default, user: user, state: .live, limit: 1000)
        return try await store.registrations(query).items.count
    }

    @Test func aUserHasAtMostTheAppsLimitOfRegistrations() async throws {
        #expect(try await self.live(registering: 103, spec: AppSpec()) == 100)
        #expect(try await self.live(registering: 4, spec: AppSpec { $0.registrationsPerUser = 2 }) == 2)
    }
}
