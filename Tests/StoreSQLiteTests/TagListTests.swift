import Foundation
import GRDB
import PushModel
import Store
import StoreContract
import Testing

@testable import StoreSQLite

/// Where tags are kept: in the registrations' rows, in the audiences' index, and a user's own in the index of users.
@Suite struct TagListTests {
    // MARK: One truth in three places

    private static let tags = (0..<6).map { "t\($0)" }
    private static let users = (0..<5).map { "u\($0)" }

    /// Registrations as lists have them, against the audiences of each tag and user.
    private func compare(_ store: SQLiteStore) async throws {
        let all = try await store.registrations(RegistrationQuery(app: .default, limit: 1000)).items
        let live = all.filter { $0.state == .live }
        #expect(all.allSatisfy { $0.state == .live || $0.tags.isEmpty })
        for name in Self.tags + Self.users.map({ "username:" + $0 }) {
            let tag = try Tag(name)
            let meant = live.filter { $0.tags.contains(tag) }
            for pns in [PNS.apns, .fcm] {
                let page = try await store.audience(
                    of: .tag(tag),
                    app: .default,
                    pns: pns,
                    after: 0,
                    through: .max,
                    limit: 1000
                )
                #expect(page.rows == meant.filter { $0.pns == pns }.map(\.row), "\(tag)")
            }
            let listed = try await store.registrations(RegistrationQuery(app: .default, tag: tag, limit: 1000)).items
            #expect(listed.map(\.row) == meant.map(\.row), "\(tag)")
        }
        #expect(try await store.checkFile() == [])
    }

    /// Also where handles share numbers.
    @Test(arguments: [1, 2, 3, 4] as [UInt64], [.max, 3, 0] as [UInt64])
    func whateverIsDoneTheyAgree(seed: UInt64, digestMask: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let keep = try TemporaryStore(digestMask: digestMask)
        let scenario = keep.scenario
        for _ in 0..<60 {
            let handle = "h\(Int.random(in: 0..<12, using: &random))"
            let id = try #require(RegistrationID("id-\(Int.random(in: 0..<12, using: &random))"))
            let user = Self.users[Int.random(in: 0..<5, using: &random)]
            let tags = Self.tags.filter { _ in Bool.random(using: &random) }
            let pns: PNS = Bool.random(using: &random) ? .apns : .fcm
            switch Int.random(in: 0..<6, using: &random) {
            case 0, 1:
                let row = ImportedRegistration(
                    id: Bool.random(using: &random) ? id : nil,
                    pns: pns,
                    handle: Handle(stored: handle),
                    user: Bool.random(using: &random) ? try UserName(user) : nil,
                    tags: try (tags + ["username:" + user]).map { try Tag($0) }
                )
                let sequence = try await keep.store.beginImport()
                _ = try await keep.store.importRegistrations([row, row], app: .default, sequence: sequence)
            case 2: _ = try await scenario.upsert(id, user: user, handle: handle, pns: pns, tags: tags)
            case 3:
                let soon = keep.time.wall.advanced(by: .seconds(5))
                _ = try await scenario.upsert(id, user: user, handle: handle, pns: pns, tags: tags, expires: soon)
                if Bool.random(using: &random) { keep.time.advance(.seconds(6)) }
            case 4: _ = try await keep.store.perform(.expireRegistrations, limit: 3)
            default:
                let sequence = try await scenario.sequence()
                _ = try await keep.store.change(
                    .delete(id),
                    app: .default,
                    user: nil,
                    sequence: sequence,
                    expires: nil,
                    most: nil
                )
            }
        }
        try await self.compare(keep.store)
    }

    /// Nobody has another user's own tag, whoever asks for it.
    @Test func aUsersTagIsOfTheUsersRegistrationsAlone() async throws {
        let keep = try TemporaryStore()
        let scenario = keep.scenario
        let id = try await scenario.register(user: "u1", handle: "aa", tags: ["username:u2", "username:u1", "t1"])
        let found = try #require(try await keep.store.registration(id, app: .default))
        #expect(found.tags.map(\.name) == ["t1", "username:u1"])
        try await self.compare(keep.store)
    }

    // MARK: The check

    @Test(arguments: [
        "DELETE FROM tagged WHERE row = 1",
        "INSERT INTO tagged VALUES (1, 1, 77)",
        "UPDATE registration SET tags = NULL WHERE row = 1",
        "UPDATE registration SET state = 2 WHERE row = 1",
        "DELETE FROM tag_name WHERE number = 1",
        "UPDATE tagged SET pns = 2 WHERE row = 1",
    ])
    func theCheckSeesWhereTheyDoNotAgree(damage: String) async throws {
        let keep = try TemporaryStore()
        let scenario = keep.scenario
        try await scenario.register(user: "u1", handle: "aa", tags: ["t1"])
        #expect(try await keep.store.checkFile() == [])
        try await keep.store.pool.writeWithoutTransaction { try $0.execute(sql: damage) }
        #expect(try await !keep.store.checkFile().isEmpty)
    }

    @Test(arguments: ["[1", "1]", "{}", "[\"a\"]", "[1.5]", "x"])
    func theCheckNamesWhatIsNoList(text: String) async throws {
        let keep = try TemporaryStore()
        let scenario = keep.scenario
        let id = try await scenario.register(user: "u1", handle: "aa", tags: ["t1"])
        try await scenario.register(user: "u2", handle: "bb", tags: ["t1"])
        try await keep.store.pool.writeWithoutTransaction { database in
            try database.execute(sql: "UPDATE registration SET tags = ? WHERE id = ?", arguments: [text, id.text])
        }
        let faults = try await keep.store.checkFile()
        #expect(faults.contains("registration \(id): its tags are no list of numbers"), "\(faults)")
    }
}
