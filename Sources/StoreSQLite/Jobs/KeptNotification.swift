/// Rich notifications, which an app fetches after a silent push.
enum KeptNotification {
    /// The numbers ascend, so that a list of them has an order; counts of apps, so that a quota costs no counting.
    static let tables = """
        CREATE TABLE rich(
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            app INTEGER NOT NULL REFERENCES app,
            id INTEGER NOT NULL,
            sender TEXT,
            sender_shown TEXT,
            addressee TEXT NOT NULL,
            addressee_shown TEXT,
            message TEXT NOT NULL,
            rich_type TEXT NOT NULL,
            content TEXT,
            secure INTEGER NOT NULL,
            created INTEGER NOT NULL,
            read INTEGER,
            UNIQUE (app, id)
        ) STRICT;
        CREATE INDEX rich_created ON rich(created);
        CREATE INDEX rich_content ON rich(app, content, addressee) WHERE content IS NOT NULL;
        CREATE INDEX rich_app ON rich(app);
        CREATE INDEX rich_sender ON rich(app, sender);
        CREATE INDEX rich_addressee ON rich(app, addressee);
        -- What makes place for another of its sender's.
        CREATE INDEX rich_read ON rich(app, sender) WHERE read IS NOT NULL;

        CREATE TABLE rich_count(app INTEGER PRIMARY KEY REFERENCES app, count INTEGER NOT NULL) STRICT;
        CREATE TRIGGER rich_added AFTER INSERT ON rich BEGIN
            INSERT INTO rich_count VALUES (new.app, 1) ON CONFLICT (app) DO UPDATE SET count = count + 1;
        END;
        CREATE TRIGGER rich_removed AFTER DELETE ON rich BEGIN
            UPDATE rich_count SET count = count - 1 WHERE app = old.app;
        END;
        """
}
