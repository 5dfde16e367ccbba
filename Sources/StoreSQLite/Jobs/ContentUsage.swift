import Store

/// How many bytes of uploaded contents are kept, counted by triggers, so that a quota costs no sum.
enum ContentUsage {
    private static let overhead = ContentAcceptance.overhead

    static let tables = """
        -- How many bytes of contents are kept for each uploader (account:NAME, key:NAME), and for all of the app ('').
        CREATE TABLE content_usage(
            app INTEGER NOT NULL REFERENCES app,
            uploader TEXT NOT NULL,
            bytes INTEGER NOT NULL,
            PRIMARY KEY (app, uploader)
        ) STRICT, WITHOUT ROWID;
        CREATE TRIGGER content_added AFTER INSERT ON content BEGIN
            INSERT INTO content_usage
                VALUES (new.app, coalesce('account:' || new.owner, 'key:' || new.key, 'key:'), length(new.bytes) + \(overhead))
                ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
            INSERT INTO content_usage VALUES (new.app, '', length(new.bytes) + \(overhead))
                ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
        END;
        CREATE TRIGGER content_removed AFTER DELETE ON content BEGIN
            UPDATE content_usage SET bytes = bytes - length(old.bytes) - \(overhead)
                WHERE app = old.app
                    AND uploader IN ('', coalesce('account:' || old.owner, 'key:' || old.key, 'key:'));
            DELETE FROM content_usage
                WHERE app = old.app AND bytes <= 0
                    AND uploader IN ('', coalesce('account:' || old.owner, 'key:' || old.key, 'key:'));
        END;
        -- A content that stays when its owner is removed is the app's.
        CREATE TRIGGER content_left AFTER UPDATE OF owner ON content WHEN new.owner IS NOT old.owner BEGIN
            INSERT INTO content_usage
                VALUES (new.app, coalesce('account:' || new.owner, 'key:' || new.key, 'key:'), length(new.bytes) + \(overhead))
                ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
            UPDATE content_usage SET bytes = bytes - length(old.bytes) - \(overhead)
                WHERE app = old.app AND uploader = coalesce('account:' || old.owner, 'key:' || old.key, 'key:');
            DELETE FROM content_usage
                WHERE app = old.app AND bytes <= 0 AND uploader = coalesce('account:' || old.owner, 'key:' || old.key, 'key:');
        END;
        """
}
