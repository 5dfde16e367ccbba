/// The table of sessions.
enum SessionSchema {
    static let tables = """
        -- Sessions in browsers, by SHA-256 of their secrets. demonstration: opened without an account. expires: what the user was told.
        -- ends: without use; latest: in any case.
        CREATE TABLE session(
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            hash BLOB NOT NULL UNIQUE,
            app INTEGER NOT NULL REFERENCES app,
            user TEXT NOT NULL,
            user_shown TEXT,
            demonstration INTEGER NOT NULL,
            expires INTEGER NOT NULL,
            ends INTEGER NOT NULL,
            latest INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX session_user ON session(app, user);
        CREATE INDEX session_ends ON session(ends);
        """
}
