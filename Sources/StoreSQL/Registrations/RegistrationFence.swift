import PushModel
import Store
import StoreKit

/// What keeps changes of registrations in their order (rule 11) where several writers make them at a time.
///
/// Two changes of what is not there yet share no row that one could guard: an id that one makes and the other deletes, a device that both
/// claim, a user who is removed meanwhile. So what a change writes begins with locks of all that it concerns, which last as long as its
/// transaction, and then finds what was read, or all is done again. Nobody holds them while Swift decides.
struct RegistrationFence {
    let table: RegistrationTable

    /// A change waits for the removal of its user to begin, and a removal for the changes of its user: then it finds what they made.
    private func key(of user: UserName) -> Int64 { self.table.digest.number(of: user) &+ self.table.app }

    /// What imports share, and what waits for them: they concern too much to name it.
    private var importsKey: Int64 { self.key("imports \(self.table.app)") }

    private func key(_ text: String) -> Int64 { Int64(bitPattern: self.table.digest.hash(Array(text.utf8))) }

    private static func lock(_ keys: [Int64]) -> SQLStatement {
        // In one order, so that two do not wait for each other.
        "SELECT count(*) AS locked FROM (\(numbers: keys.sorted())) AS keys, pg_advisory_xact_lock(keys.value)"
    }

    private static func share(_ keys: [Int64]) -> SQLStatement {
        "SELECT count(*) AS locked FROM (\(numbers: keys.sorted())) AS keys, pg_advisory_xact_lock_shared(keys.value)"
    }

    /// In front of the beginning of a user's removal.
    func removal(of user: UserName) -> [SQLStatement] { [Self.lock([self.key(of: user), self.importsKey])] }

    /// In front of what an import writes.
    var imports: [SQLStatement] { [Self.share([self.importsKey])] }

    /// The writes of a change within their fence.
    ///
    /// - Parameters:
    ///   - writes: What it writes.
    ///   - change: The change.
    ///   - request: What was asked for.
    ///   - guards: See ``RegistrationReading/guards(_:)``.
    /// - Returns: All statements.
    func around(
        _ writes: [SQLStatement],
        of change: RegistrationChange,
        _ request: RegisterRequest,
        _ guards: (before: [SQLStatement], behind: [SQLStatement])
    ) -> [SQLStatement] {
        var first: [SQLStatement] = []
        if let user = change.terms.user { first.append(Self.share([self.key(of: user)])) }
        // An import that is under way may make what is deleted or claimed here without a row.
        let isLate = change.released.contains { $0.version == change.terms.sequence }
        if change.deleted != nil || isLate { first.append(Self.lock([self.importsKey])) }
        first.append(Self.lock(Array(self.keys(of: change, request))))
        let removal = self.table.removal(of: change.terms.user, after: change.terms.sequence)
        first.append(("SELECT 1 AS found WHERE NOT EXISTS (\(removal))" as SQLStatement).expecting(1))
        return first + guards.before + writes + guards.behind
    }

    /// Of all ids and devices that a change concerns.
    private func keys(of change: RegistrationChange, _ request: RegisterRequest) -> Set<Int64> {
        let touched = change.changes
        let ids = request.ids + touched.map { $0.after.id } + [change.deleted].compactMap { $0 }
        var keys = Set(ids.map { self.key("id \(self.table.app) \($0.text)") })
        if case .install(let installation) = request {
            keys.insert(self.key("tag \(self.table.app) \(installation.tag.key)"))
        }
        var devices = request.upserts.map { (handle: $0.handle, pns: $0.pns) }
        for one in touched.compactMap({ $0.before }) {
            if let handle = one.handle, let slot = one.slot { devices.append((handle, slot.pns)) }
        }
        for device in devices {
            keys.insert(self.table.digest.number(of: device.handle, device.pns, .native, app: self.table.app))
        }
        return keys
    }
}

extension RegistrationTable {
    /// In front of what an import writes, where several write at a time.
    package var importFence: [SQLStatement] { RegistrationFence(table: self).imports }
}
