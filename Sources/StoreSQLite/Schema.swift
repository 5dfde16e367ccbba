import GRDB
import StoreKit

/// The tables, as migrations: named, in order, and never edited once they are released.
///
/// Moments named `due`, `stopped`, `ends`, and `at` of `released_handle` and `tombstone`, are milliseconds of the store's own clock (``StoreClock``), all
/// others of the wall clock.
enum Schema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1 apps and accounts") { try $0.execute(sql: self.apps) }
        migrator.registerMigration("2 registrations") { try $0.execute(sql: self.registrations) }
        migrator.registerMigration("3 jobs") { try $0.execute(sql: self.jobs) }
        migrator.registerMigration("4 batches and outcomes") { try $0.execute(sql: self.batches) }
        migrator.registerMigration("5 contents") { try $0.execute(sql: self.contents) }
        migrator.registerMigration("6 audiences without a tag") { try $0.execute(sql: self.audiences) }
        migrator.registerMigration("7 feeding and schedule") { try $0.execute(sql: self.feeding) }
        migrator.registerMigration("8 bundles and parcels") { try $0.execute(sql: self.bundles) }
        migrator.registerMigration("9 audiences of many tags") { try $0.execute(sql: self.manyTags) }
        migrator.registerMigration("10 retention") { try $0.execute(sql: self.retention) }
        migrator.registerMigration("11 bundles by app") { try $0.execute(sql: self.bundlesByApp) }
        migrator.registerMigration("12 ends") { try $0.execute(sql: self.ends) }
        migrator.registerMigration("13 dead letters") { try $0.execute(sql: self.deadLetters) }
        migrator.registerMigration("14 pauses") { try $0.execute(sql: self.pauses) }
        migrator.registerMigration("15 released handles") { try $0.execute(sql: ReleasedHandle.table) }
        migrator.registerMigration("16 inline batches") { try $0.execute(sql: InlineBatch.tables) }
        migrator.registerMigration("17 tags of rows") { try $0.execute(sql: TagList.tables) }
        migrator.registerMigration("18 held handles") { try HeldHandle.migrate($0) }
        migrator.registerMigration("19 unfinished jobs") { try $0.execute(sql: InlineBatch.indexes) }
        migrator.registerMigration("20 what users leave behind") { database in
            try database.execute(sql: Tombstone.table)
            try database.execute(sql: RegisterWork.tables)
            try database.execute(sql: ForeignTags.removal)
        }
        migrator.registerMigration("21 content quotas") { try $0.execute(sql: ContentUsage.tables) }
        migrator.registerMigration("22 rich notifications by number") { try $0.execute(sql: KeptNotification.tables) }
        return migrator
    }

    private static let apps = """
        -- One row: the store's clock is CLOCK_BOOTTIME + shift while this boot lasts.
        CREATE TABLE clock(
            id INTEGER PRIMARY KEY CHECK (id = 1),
            boot TEXT NOT NULL,
            shift INTEGER NOT NULL,
            seen INTEGER NOT NULL
        ) STRICT;
        -- An app is known by number from its first mention on; spec is null until it is declared.
        CREATE TABLE app(number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, spec TEXT) STRICT;
        CREATE TABLE account(
            app INTEGER NOT NULL REFERENCES app,
            name TEXT NOT NULL,
            role TEXT NOT NULL,
            password TEXT NOT NULL,
            disabled INTEGER NOT NULL,
            created INTEGER NOT NULL,
            PRIMARY KEY (app, name)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE api_key(
            app INTEGER NOT NULL REFERENCES app,
            name TEXT NOT NULL,
            role TEXT NOT NULL,
            hash BLOB NOT NULL UNIQUE,
            created INTEGER NOT NULL,
            revoked INTEGER,
            PRIMARY KEY (app, name)
        ) STRICT, WITHOUT ROWID;
        """

    private static let registrations = """
        -- AUTOINCREMENT: a row's number is never used again.
        CREATE TABLE registration(
            row INTEGER PRIMARY KEY AUTOINCREMENT,
            app INTEGER NOT NULL REFERENCES app,
            id TEXT NOT NULL,
            pns INTEGER,
            handle TEXT,
            user TEXT,
            state INTEGER NOT NULL,
            version INTEGER NOT NULL,
            updated INTEGER NOT NULL,
            expires INTEGER,
            ended_at INTEGER,
            ended_reason TEXT
        ) STRICT;
        CREATE UNIQUE INDEX registration_id ON registration(app, id);
        CREATE UNIQUE INDEX registration_handle ON registration(app, handle, pns) WHERE state = 1;
        CREATE INDEX registration_app ON registration(app);
        CREATE INDEX registration_user ON registration(app, user);
        -- Not of the live ones: an index that most rows of an app share would be taken for better ones.
        CREATE INDEX registration_ended ON registration(app, state) WHERE state <> 1;
        CREATE INDEX registration_expires ON registration(expires) WHERE state = 1 AND expires IS NOT NULL;

        CREATE TABLE tag(
            number INTEGER PRIMARY KEY,
            app INTEGER NOT NULL REFERENCES app,
            name TEXT NOT NULL,
            UNIQUE (app, name)
        ) STRICT;
        -- The tags of live registrations: the primary key is the audience's order.
        CREATE TABLE registration_tag(
            tag INTEGER NOT NULL REFERENCES tag,
            pns INTEGER NOT NULL,
            row INTEGER NOT NULL REFERENCES registration,
            PRIMARY KEY (tag, pns, row)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX registration_tag_row ON registration_tag(row);

        CREATE TABLE dead_handle(
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            row INTEGER NOT NULL,
            handle TEXT NOT NULL,
            before INTEGER NOT NULL,
            reason TEXT NOT NULL
        ) STRICT;
        """

    private static let jobs = """
        CREATE TABLE job(
            sequence INTEGER PRIMARY KEY AUTOINCREMENT,
            id BLOB NOT NULL UNIQUE,
            app INTEGER NOT NULL REFERENCES app,
            user TEXT,
            key TEXT,
            kind INTEGER NOT NULL,
            priority INTEGER NOT NULL,
            platforms INTEGER NOT NULL,
            state INTEGER NOT NULL,
            hub_state TEXT,
            work TEXT NOT NULL,
            planner_epoch INTEGER NOT NULL DEFAULT 0,
            planned INTEGER NOT NULL DEFAULT 0,
            due INTEGER,
            stopped INTEGER,
            expires INTEGER NOT NULL,
            starts INTEGER NOT NULL DEFAULT 0,
            waiter TEXT,
            result TEXT,
            reason TEXT,
            traceparent TEXT,
            accepted INTEGER NOT NULL,
            started INTEGER,
            finished INTEGER
        ) STRICT;
        CREATE INDEX job_app ON job(app);
        CREATE INDEX job_user ON job(app, user) WHERE user IS NOT NULL;
        CREATE INDEX job_key ON job(app, key) WHERE key IS NOT NULL;
        CREATE INDEX job_state ON job(app, state) WHERE state <> 10;
        CREATE INDEX job_due ON job(priority, due) WHERE due IS NOT NULL;
        CREATE INDEX job_expires ON job(expires) WHERE state < 3;
        CREATE INDEX job_stopped ON job(stopped) WHERE stopped IS NOT NULL;

        -- How many jobs are unfinished, so that the limit on them costs no counting.
        CREATE TABLE backlog(id INTEGER PRIMARY KEY CHECK (id = 1), unfinished INTEGER NOT NULL) STRICT;
        INSERT INTO backlog VALUES (1, 0);
        CREATE TRIGGER job_accepted AFTER INSERT ON job BEGIN
            UPDATE backlog SET unfinished = unfinished + 1;
        END;
        CREATE TRIGGER job_finished AFTER UPDATE OF state ON job WHEN new.state >= 10 AND old.state < 10 BEGIN
            UPDATE backlog SET unfinished = unfinished - 1;
        END;

        CREATE TABLE idempotency(
            app INTEGER NOT NULL REFERENCES app,
            caller TEXT NOT NULL,
            route TEXT NOT NULL,
            key TEXT NOT NULL,
            hash BLOB NOT NULL,
            job INTEGER NOT NULL REFERENCES job,
            created INTEGER NOT NULL,
            PRIMARY KEY (app, caller, route, key)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX idempotency_job ON idempotency(job);
        """

    private static let batches = """
        CREATE TABLE lane(
            job INTEGER NOT NULL REFERENCES job,
            pns INTEGER NOT NULL,
            after INTEGER NOT NULL,
            through INTEGER NOT NULL,
            next_page INTEGER NOT NULL,
            done INTEGER NOT NULL,
            PRIMARY KEY (job, pns)
        ) STRICT, WITHOUT ROWID;

        -- due is null for a batch that is closed, and for one whose job is being stopped.
        CREATE TABLE batch(
            job INTEGER NOT NULL REFERENCES job,
            pns INTEGER NOT NULL,
            page INTEGER NOT NULL,
            attempt INTEGER NOT NULL,
            app INTEGER NOT NULL,
            priority INTEGER NOT NULL,
            from_id INTEGER NOT NULL,
            to_id INTEGER NOT NULL,
            size INTEGER NOT NULL,
            open INTEGER NOT NULL,
            published INTEGER NOT NULL,
            due INTEGER,
            starts INTEGER NOT NULL DEFAULT 0,
            carried BLOB,
            carried_reason TEXT,
            PRIMARY KEY (job, pns, page, attempt)
        ) STRICT, WITHOUT ROWID;
        -- open and published stand in the columns too, else SQLite would fetch each row for them.
        CREATE INDEX batch_open ON batch(job, open, published, attempt, due) WHERE open = 1;
        CREATE INDEX batch_window ON batch(app, pns, priority, open, published) WHERE open = 1 AND published = 1;
        CREATE INDEX batch_due ON batch(priority, due) WHERE open = 1 AND due IS NOT NULL;

        -- The fence: a batch and attempt is counted once. total = accepted + failed + expired + cancelled + carried.
        CREATE TABLE outcome(
            job INTEGER NOT NULL REFERENCES job,
            pns INTEGER NOT NULL,
            page INTEGER NOT NULL,
            attempt INTEGER NOT NULL,
            accepted INTEGER NOT NULL,
            failed INTEGER NOT NULL,
            expired INTEGER NOT NULL,
            cancelled INTEGER NOT NULL,
            carried INTEGER NOT NULL,
            at INTEGER NOT NULL,
            PRIMARY KEY (job, pns, page, attempt)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE tally(
            job INTEGER NOT NULL REFERENCES job,
            pns INTEGER NOT NULL,
            class INTEGER NOT NULL,
            count INTEGER NOT NULL,
            PRIMARY KEY (job, pns, class)
        ) STRICT, WITHOUT ROWID;

        -- Single devices: those that failed, and all where the app records all.
        CREATE TABLE delivery(
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            job INTEGER NOT NULL REFERENCES job,
            pns INTEGER NOT NULL,
            row INTEGER NOT NULL,
            class INTEGER NOT NULL,
            status INTEGER NOT NULL,
            reason TEXT NOT NULL,
            at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX delivery_job ON delivery(job);

        CREATE TABLE dead(
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            queue TEXT NOT NULL,
            type TEXT NOT NULL,
            message TEXT NOT NULL,
            digest INTEGER NOT NULL,
            app TEXT,
            reason TEXT NOT NULL,
            body BLOB NOT NULL,
            at INTEGER NOT NULL,
            UNIQUE (queue, type, message, digest)
        ) STRICT;
        """

    private static let contents = """
        CREATE TABLE content(
            app INTEGER NOT NULL REFERENCES app,
            id TEXT NOT NULL,
            owner TEXT,
            media_type TEXT NOT NULL,
            bytes BLOB NOT NULL,
            created INTEGER NOT NULL,
            UNIQUE (app, id)
        ) STRICT;
        CREATE TABLE rich(
            app INTEGER NOT NULL REFERENCES app,
            id INTEGER NOT NULL,
            sender TEXT,
            addressee TEXT NOT NULL,
            message TEXT NOT NULL,
            rich_type TEXT NOT NULL,
            content TEXT,
            secure INTEGER NOT NULL,
            created INTEGER NOT NULL,
            read INTEGER,
            PRIMARY KEY (app, id)
        ) STRICT, WITHOUT ROWID;
        """

    private static let audiences = """
        -- All live registrations of an app and service in the order of audiences, for expressions such as !beta. It is wide: only
        -- what goes through all of them may be reached by it. state is a column too, else SQLite would fetch each row for it.
        CREATE INDEX registration_live ON registration(app, pns, state) WHERE state = 1;
        """

    private static let feeding = """
        -- What a planner waits for that gave the job back: bits of services, and 1 where it has planned before; 0 = nothing.
        ALTER TABLE job ADD COLUMN waits INTEGER NOT NULL DEFAULT 0;
        -- How often it was claimed since its planning last came anywhere.
        ALTER TABLE job ADD COLUMN claims INTEGER NOT NULL DEFAULT 0;
        -- Of a job that is to start later: when, by the wall clock.
        ALTER TABLE job ADD COLUMN starts_at INTEGER;
        DROP INDEX job_due;
        CREATE INDEX job_due ON job(priority, app, waits, due) WHERE due IS NOT NULL;
        CREATE INDEX job_starts ON job(starts_at) WHERE state = 0;

        -- published: 0 = not at the broker, 1 = at the broker, -1 = a worker gave it back until it is due.
        DROP INDEX batch_window;
        CREATE INDEX batch_window ON batch(app, pns, priority, open, published, size)
            WHERE open = 1 AND published IN (-1, 1);
        DROP INDEX batch_due;
        CREATE INDEX batch_due ON batch(priority, app, pns, published, due) WHERE open = 1 AND due IS NOT NULL;
        -- How many devices the lane's batches had when they were planned.
        ALTER TABLE lane ADD COLUMN devices INTEGER NOT NULL DEFAULT 0;

        -- Rate limits: devices a second, and up to when they are used up, in nanoseconds of the store's clock.
        CREATE TABLE pace(
            app INTEGER NOT NULL REFERENCES app,
            pns INTEGER NOT NULL,
            rate INTEGER NOT NULL,
            used INTEGER NOT NULL,
            PRIMARY KEY (app, pns)
        ) STRICT, WITHOUT ROWID;

        -- A job counts as unfinished from its start on; those that wait for theirs have a limit of their own.
        ALTER TABLE backlog ADD COLUMN scheduled INTEGER NOT NULL DEFAULT 0;
        DROP TRIGGER job_accepted;
        CREATE TRIGGER job_accepted AFTER INSERT ON job BEGIN
            UPDATE backlog SET unfinished = unfinished + (new.state <> 0), scheduled = scheduled + (new.state = 0);
        END;
        CREATE TRIGGER job_started AFTER UPDATE OF state ON job WHEN old.state = 0 AND new.state <> 0 BEGIN
            UPDATE backlog SET unfinished = unfinished + 1, scheduled = scheduled - 1;
        END;
        """

    private static let bundles = """
        -- The outbox entry of jobs that were accepted together: those from first to last that are queued and not due.
        CREATE TABLE bundle(
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            app INTEGER NOT NULL REFERENCES app,
            priority INTEGER NOT NULL,
            first INTEGER NOT NULL,
            last INTEGER NOT NULL,
            epoch INTEGER NOT NULL DEFAULT 0,
            -- How often it was claimed since its planning last came anywhere.
            claims INTEGER NOT NULL DEFAULT 0,
            due INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX bundle_due ON bundle(priority, due);

        -- The outbox entry of batches that travel in one message, those of the jobs from first to last that name it: their
        -- published is 2, their due is null. It goes with the last of them that is open.
        CREATE TABLE parcel(
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            app INTEGER NOT NULL REFERENCES app,
            pns INTEGER NOT NULL,
            priority INTEGER NOT NULL,
            first INTEGER NOT NULL,
            last INTEGER NOT NULL,
            open INTEGER NOT NULL,
            -- How many it had when it was planned; what the window counts.
            devices INTEGER NOT NULL,
            due INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX parcel_due ON parcel(due);
        CREATE INDEX parcel_window ON parcel(app, pns, priority, devices);
        ALTER TABLE batch ADD COLUMN parcel INTEGER;
        """

    private static let manyTags = """
        -- All tags of a send for which one of many is enough, a line each; its job's work tells the first alone.
        CREATE TABLE audience(job INTEGER PRIMARY KEY REFERENCES job, tags TEXT NOT NULL) STRICT;
        """

    private static let bundlesByApp = """
        DROP INDEX bundle_due;
        CREATE INDEX bundle_due ON bundle(priority, app, due);
        """

    private static let deadLetters = """
        -- What its burial closed: 0 nothing, 1 a batch, 2 a register job, 3 a send job that was not planned.
        ALTER TABLE dead ADD COLUMN closed INTEGER NOT NULL DEFAULT 0;
        -- What names no app that is declared is the default app's to see.
        CREATE INDEX dead_app ON dead(coalesce(app, 'default'), id);
        CREATE TRIGGER job_reopened AFTER UPDATE OF state ON job WHEN new.state < 10 AND old.state >= 10 BEGIN
            UPDATE backlog SET unfinished = unfinished + 1;
        END;
        """

    private static let retention = """
        CREATE INDEX job_finished ON job(finished) WHERE finished IS NOT NULL;
        -- Whether some of its batches, outcomes or devices are removed already.
        ALTER TABLE job ADD COLUMN cleared INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX registration_past ON registration(coalesce(ended_at, updated)) WHERE state <> 1;
        CREATE INDEX content_created ON content(created);
        CREATE INDEX rich_created ON rich(created);
        CREATE INDEX rich_content ON rich(app, content) WHERE content IS NOT NULL;
        CREATE INDEX dead_message ON dead(message);
        """

    private static let ends = """
        -- When the job's time is over, by the clock that does not jump; null before its start. `expires` is what its sender was told.
        ALTER TABLE job ADD COLUMN ends INTEGER;
        UPDATE job SET ends = expires WHERE state <> 0;
        DROP INDEX job_expires;
        CREATE INDEX job_ends ON job(ends) WHERE state < 3;
        """
}
