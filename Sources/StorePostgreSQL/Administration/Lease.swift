import NIOConcurrencyHelpers
import PushModel
import Store
import StoreSQL

/// A role that one process of all hosts has, until a time by the server's clock, which is put off while it is there.
///
/// A lock of a session's would end with each connection, and a pooler in between would keep it.
final class Lease: Leadership {
    /// How long nobody else takes the role after a renewal.
    private static let life = Duration.seconds(10)
    private static let renewal = Duration.seconds(3)
    private static let until: SQLStatement =
        "clock_timestamp() + \(raw: "interval '\(life / .milliseconds(1)) milliseconds'")"

    private let role: LeaderRole
    private let holder = RegistrationID.random().text
    private let store: PostgreSQLStore
    /// By this process's clock, no later than by the server's.
    private let end: NIOLockedValueBox<ContinuousClock.Instant>

    private init(_ role: LeaderRole, _ store: PostgreSQLStore) {
        (self.role, self.store, self.end) = (role, store, NIOLockedValueBox(.now))
    }

    deinit {
        let (store, release) = (self.store, self.release)
        // Where it fails the lease lapses by itself.
        Task { try? await store.perform(release) }
    }

    /// - Returns: nil while somebody else has the role.
    /// - Throws: ``StoreError``.
    static func take(_ role: LeaderRole, _ store: PostgreSQLStore) async throws -> Lease? {
        // Looks before it writes: there is one leader, and many who ask.
        let held: SQLStatement = """
            SELECT 1 AS found FROM leader WHERE role = \(role.rawValue) AND until > clock_timestamp()
            """
        guard try await store.rows(held).isEmpty else { return nil }
        let lease = Lease(role, store)
        guard try await lease.renew(with: lease.taking) else { return nil }
        Task { [weak lease] in
            while true {
                try await Task.sleep(for: Self.renewal)
                guard let lease, lease.isHeld else { return }
                // One that fails is tried again; meanwhile the end comes nearer.
                _ = try? await lease.renew(with: lease.renewal)
            }
        }
        return lease
    }

    var isHeld: Bool { self.end.withLockedValue { $0 > .now } }

    private func renew(with statement: SQLStatement) async throws -> Bool {
        let begin = ContinuousClock.now
        let isHeld = try await self.store.perform(SQLTransaction(SQLDecision(writing: [statement]) { $0[0].count > 0 }))
        self.end.withLockedValue { $0 = isHeld ? begin + Self.life : begin }
        return isHeld
    }

    private var taking: SQLStatement {
        """
        INSERT INTO leader(role, holder, until) VALUES (\(self.role.rawValue), \(self.holder), \(Self.until))
        ON CONFLICT (role) DO UPDATE SET holder = excluded.holder, until = excluded.until WHERE leader.until <= clock_timestamp()
        """
    }

    private var renewal: SQLStatement {
        "UPDATE leader SET until = \(Self.until) WHERE role = \(self.role.rawValue) AND holder = \(self.holder)"
    }

    private var release: SQLTransaction<Void> {
        let release: SQLStatement = """
            DELETE FROM leader WHERE role = \(self.role.rawValue) AND holder = \(self.holder)
            """
        return SQLTransaction(SQLDecision(writing: [release], giving: ()))
    }
}
