import StoreKit

/// The devices of a list as they are there now: a registration is read where it stands, and one that has left its service, or is not live,
/// is not a target.
package enum ListedDevice {
    /// A join of the tables, as `t` and `r`.
    package static let source = """
        recipient AS t LEFT JOIN registration AS r ON t.handle IS NULL AND r."row" = t.number AND r.pns = t.pns AND r.\(KeptRegistration.live)
        """

    /// The condition of those that are there.
    package static let isThere = "(t.handle IS NOT NULL OR r.\"row\" IS NOT NULL)"

    /// Where a device is reached: a handle of the list has no registration.
    package static let address = """
        t.number AS "row", coalesce(t.handle, r.handle) AS handle, coalesce(t.credential, r.credential) AS credential
        """
}
