import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL

@testable import StorePostgreSQL

/// What the contract's suites of registrations need beside the store.
extension StoreAdministration {
    var devices: any DeviceStore { self.engine }

    /// As an outcome will, of devices with the default credential.
    func leave(_ dead: [DeadHandle], tag: String, accepted: Int) async throws {
        for one in dead {
            try await self.run(
                """
                INSERT INTO dead_handle("row", handle, credential, before, reason)
                VALUES (\(one.row), \(one.handle.text), 0, \(one.before), \(one.reason)) ON CONFLICT DO NOTHING
                """
            )
        }
    }

    @discardableResult
    func perform(_ chore: Chore, limit: Int) async throws -> ChoreChunk {
        switch chore {
        case .pruneRegistrations: return ChoreChunk(rows: try await self.engine.pruneRegistrations(limit: limit))
        case .expireRegistrations: return ChoreChunk(rows: try await self.engine.expireRegistrations(limit: limit))
        case .remove(.registrations, let age, _):
            let before = self.engine.clock.cautious.milliseconds - age.milliseconds
            return try await self.engine.removeRegistrations(before: before, limit: limit)
        default: throw Unexpected("it is not a chore of registrations: \(chore)")
        }
    }

    /// Tags in lists and in the audiences' index, and digests, must be those of live registrations alone.
    func faults() async throws -> [String] {
        let checks: [(String, SQLStatement)] = [
            (
                "tags are not in the audiences' index",
                """
                SELECT count(*) FROM registration, jsonb_array_elements_text(registration.tags::jsonb) AS list(value)
                WHERE NOT EXISTS (SELECT 1 FROM tagged WHERE tag = CAST(list.value AS bigint) AND tagged.pns = registration.pns
                    AND tagged."row" = registration."row")
                """
            ),
            (
                "entries of the audiences' index are no registration's",
                """
                SELECT count(*) FROM tagged WHERE NOT EXISTS (
                    SELECT 1 FROM registration, jsonb_array_elements_text(registration.tags::jsonb) AS list(value)
                    WHERE registration."row" = tagged."row" AND CAST(list.value AS bigint) = tagged.tag)
                """
            ),
            (
                "registrations have a digest and are not live, or are live without one",
                "SELECT count(*) FROM registration WHERE (state = 1) <> (digest IS NOT NULL)"
            ),
        ]
        var faults: [String] = []
        for (fault, count) in checks where try await self.number(count) != 0 { faults.append(fault) }
        return faults
    }
}
