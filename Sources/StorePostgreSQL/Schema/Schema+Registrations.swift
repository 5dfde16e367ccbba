import StoreKit

extension Schema {
    /// Registrations, and what is found by them.
    ///
    /// A renewal changes `version` and `updated`, and neither stands in an index, nor in a condition of one: such a change is written in
    /// place. `expires` does where an app lets registrations expire, for they are found by it. No foreign keys: each would cost a look-up
    /// a row, and hold its app's row in common with all others that write.
    static let registrations = [
        // The credentials that devices name, declared or not. Those with the default one name none.
        """
        CREATE TABLE credential(
            number \(number), app bigint NOT NULL REFERENCES app, pns bigint NOT NULL, name \(text) NOT NULL,
            UNIQUE (app, pns, name))
        """,
        // Each content of an app's templates once, however many devices have it. content: JSON of a DeviceTemplate.Content.
        """
        CREATE TABLE template(
            number \(number), app bigint NOT NULL REFERENCES app, digest bytea NOT NULL, content \(text) NOT NULL,
            UNIQUE (app, digest))
        """,
        // digest: of a live one's handle (HandleDigest). The other columns are as in the driver for SQLite.
        """
        CREATE TABLE registration(
            "row" \(number), app bigint NOT NULL, id \(text) NOT NULL, pns bigint, credential bigint, handle \(text), digest bytea,
            "user" \(text), user_shown \(text), state bigint NOT NULL, version bigint NOT NULL, updated bigint NOT NULL,
            expires bigint, ended_at bigint, ended_reason \(text), tags \(text), template bigint, template_slot \(text),
            written \(text), UNIQUE (app, id))
            WITH (fillfactor = 90)
        """,
        // A device has one live registration for native notifications, and one for each of its templates.
        """
        CREATE UNIQUE INDEX registration_digest ON registration(digest, coalesce(template_slot, '')) WHERE \(live)
        """,
        "CREATE INDEX registration_live ON registration(app, pns, \"row\") WHERE \(live)",
        "CREATE INDEX registration_user ON registration(app, \"user\", pns, \"row\") WHERE \(live) AND \"user\" IS NOT NULL",
        "CREATE INDEX registration_user_past ON registration(app, \"user\") WHERE \(past) AND \"user\" IS NOT NULL",
        "CREATE INDEX registration_ended ON registration(app, state, \"row\") WHERE \(past)",
        "CREATE INDEX registration_past ON registration(ended_at) WHERE \(past)",
        "CREATE INDEX registration_expires ON registration(expires) WHERE \(live) AND expires IS NOT NULL",
        "CREATE INDEX registration_credential ON registration(credential) WHERE \(live) AND credential IS NOT NULL",
        "CREATE INDEX registration_template ON registration(template) WHERE template IS NOT NULL",
        // A user's own tag is in neither of these: the index of users stands for it.
        """
        CREATE TABLE tag_name(
            number \(number), app bigint NOT NULL REFERENCES app, name \(text) NOT NULL, name_shown \(text), UNIQUE (app, name))
        """,
        // The key is the audience's order. What was vacuumed is read from the index alone.
        """
        CREATE TABLE tagged(tag bigint, pns bigint, "row" bigint, PRIMARY KEY (tag, pns, "row"))
            WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05)
        """,
        // Devices that push services called dead. credential: with which they were sent to; 0 = the default one.
        """
        CREATE TABLE dead_handle(
            id \(number), "row" bigint NOT NULL, handle \(text) NOT NULL, credential bigint NOT NULL, before bigint NOT NULL,
            reason \(text) NOT NULL, UNIQUE ("row", handle, credential))
        """,
    ]

    /// What stops earlier changes that arrive later (rule 11), and removals of users.
    static let removals = [
        """
        CREATE TABLE released_handle(
            app bigint, pns bigint, handle bytea, version bigint NOT NULL, at bigint NOT NULL, PRIMARY KEY (app, pns, handle))
        """,
        "CREATE INDEX released_version ON released_handle(version)",
        "CREATE INDEX released_at ON released_handle(at)",
        """
        CREATE TABLE tombstone(
            app bigint, id \(text), "user" \(text), version bigint NOT NULL, at bigint NOT NULL, PRIMARY KEY (app, id, "user"))
        """,
        "CREATE INDEX tombstone_user ON tombstone(app, \"user\", version)",
        "CREATE INDEX tombstone_version ON tombstone(version)",
        "CREATE INDEX tombstone_at ON tombstone(at)",
        """
        CREATE TABLE user_removal(
            job bigint PRIMARY KEY, app bigint NOT NULL, "user" \(text) NOT NULL, content bigint NOT NULL, rich bigint NOT NULL,
            step bigint NOT NULL, after bigint NOT NULL, UNIQUE (app, "user"))
        """,
        """
        CREATE TABLE removed_user(
            app bigint, digest bigint, version bigint NOT NULL, at bigint NOT NULL, PRIMARY KEY (app, digest))
        """,
        "CREATE INDEX removed_user_version ON removed_user(version)",
        "CREATE INDEX removed_user_at ON removed_user(at)",
    ]

    private static let live = KeptRegistration.live
    private static let past = KeptRegistration.past
}
