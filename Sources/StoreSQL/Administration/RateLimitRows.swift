package import PushModel
package import Store
package import StoreKit

/// Rows of the table `rate_limit`, which devices are counted in.
package struct RateLimitRows: Sendable {
    private struct Row: Sendable {
        /// Its number; 0 = the default one.
        let credential: Int64
        let name: CredentialName
        let rate: Int
        var tat: Int64
    }

    private struct Key: Hashable, Sendable {
        let app: Int64
        let pns: PushService
    }

    private var rows: [Key: [Row]] = [:]
    private let now: Int64

    /// Reads the rate limits of some apps, which are a query of their numbers.
    package static func read(of apps: SQLStatement) -> SQLStatement {
        """
        SELECT rate_limit.app, rate_limit.pns, rate_limit.credential, credential.name, rate_limit.rate, rate_limit.tat
        FROM rate_limit LEFT JOIN credential ON credential.number = rate_limit.credential
        WHERE rate_limit.app IN (\(apps))
        """
    }

    /// Takes the rows of ``read(of:)``; now: the store's clock.
    package init(_ rows: [SQLRow], now: Int64) throws {
        self.now = now
        for row in rows {
            let key = Key(app: try row["app"], pns: try PushService(stored: row["pns"]))
            let limit = Row(
                credential: try row["credential"],
                name: try (row["name"] as String?).map { try CredentialName(stored: $0) } ?? .default,
                rate: try row["rate"],
                tat: try row["tat"]
            )
            self.rows[key, default: []].append(limit)
        }
    }

    /// The limits of an app at a service.
    package func limits(of app: Int64, at pns: PushService) -> RateLimits {
        let rows = self.rows[Key(app: app, pns: pns), default: []]
        return RateLimits(rows.map { (credential: $0.name, rate: $0.rate, tat: $0.tat) }, now: self.now)
    }

    /// Counts devices; see ``StoreKit/RateLimits/spend(_:_:_:)``.
    ///
    /// - Returns: false where there is no credit for them; then nothing is counted.
    package mutating func spend(
        _ devices: DeviceCount,
        of app: Int64,
        at pns: PushService,
        _ kind: CreditKind,
        _ priority: Priority
    ) -> Bool {
        guard devices.all > 0 else { return true }
        guard let spent = self.limits(of: app, at: pns).spend(devices, kind, priority) else { return false }
        let key = Key(app: app, pns: pns)
        for index in self.rows[key, default: []].indices {
            guard let name = self.rows[key]?[index].name, let tat = spent[name] else { continue }
            self.rows[key]?[index].tat = tat
        }
        return true
    }

    /// Writes what was counted since, guarded by what was read: who counts at the same time counts again.
    package func writes(since found: RateLimitRows) -> [SQLStatement] {
        let keys = self.rows.keys.sorted { ($0.app, $0.pns.number) < ($1.app, $1.pns.number) }
        return keys.flatMap { key in
            zip(found.rows[key, default: []], self.rows[key, default: []]).compactMap { old, new -> SQLStatement? in
                guard old.tat != new.tat else { return nil }
                let spend: SQLStatement = """
                    UPDATE rate_limit SET tat = \(new.tat) WHERE app = \(key.app) AND pns = \(key.pns.number)
                        AND credential = \(new.credential) AND tat = \(old.tat)
                    """
                return spend.expecting(1)
            }
        }
    }
}
