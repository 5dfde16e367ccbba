/// The tables of the removals of users, and what stops earlier changes that arrive later (decision 33).
enum UserRemovalSchema {
    static let tables = """
        -- Removals under way, each by its register job: the highest numbers of contents and notifications that are the user's, and
        -- how far it is (UserRemoval.Step).
        CREATE TABLE user_removal(
            job INTEGER PRIMARY KEY REFERENCES job,
            app INTEGER NOT NULL REFERENCES app,
            user TEXT NOT NULL,
            content INTEGER NOT NULL,
            rich INTEGER NOT NULL,
            step INTEGER NOT NULL,
            after INTEGER NOT NULL,
            UNIQUE (app, user)
        ) STRICT;
        -- The last removal of each user, by a digest of the name: an earlier change of theirs that comes late does nothing.
        CREATE TABLE removed_user(
            app INTEGER NOT NULL REFERENCES app,
            digest INTEGER NOT NULL,
            version INTEGER NOT NULL,
            at INTEGER NOT NULL,
            PRIMARY KEY (app, digest)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX removed_user_version ON removed_user(version);
        CREATE INDEX removed_user_at ON removed_user(at);
        """
}
