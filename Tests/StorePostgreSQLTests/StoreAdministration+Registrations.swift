import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL

@testable import StorePostgreSQL

/// What the contract's suites of registrations need beside the store.
extension StoreAdministration {
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
                "entries of the audiences' index belong to no registration",
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
