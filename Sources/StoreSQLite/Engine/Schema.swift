import PushModel
import Store
import StoreKit
import StoreSQL

/// The tables of version 1, which the steps of ``plan`` change.
///
/// Stores have them, so they stay as they are: whoever changes a table adds a step.
///
/// Times named `due`, `stopped`, `ends`, and `at` of `released_handle` and `tombstone`, are milliseconds of the store's
/// clock (``StoreClock``), all others of the wall clock.
///
/// Columns of a user, an account or a tag have the ``UserName/key`` or ``Tag/key``, which is used for lookups (decision
/// 27). A column beside it has the original spelling, if that is shown and differs.
enum Schema {
    /// Makes the tables of version 1, and takes each step of a plan.
    static func create(in database: Database, _ plan: SchemaPlan) throws {
        for tables in [
            self.versions, self.administration, SessionSchema.tables, TemplateTable.schema, self.registrations,
            OutboxTable.schema,
            self.jobs, RecipientTable.schema, HubCallSchema.schema, self.batches, PlatformCountTable.schema,
            self.deadLetters, self.contents, ContentUsage.tables, KeptNotification.tables, UserRemovalSchema.tables,
        ] {
            try database.execute(sql: tables)
        }
        try self.mark(.first, in: database)
        for number in plan.steps.indices.map({ $0 + 2 }) {
            try self.take(number, of: plan, after: .first, in: database)
        }
    }

    private static let administration = """
        -- One row: the store's clock is CLOCK_BOOTTIME + shift while this boot lasts.
        CREATE TABLE clock(
            id INTEGER PRIMARY KEY CHECK (id = 1),
            boot TEXT NOT NULL,
            shift INTEGER NOT NULL,
            seen INTEGER NOT NULL
        ) STRICT;
        -- The key that seals the cursors of lists (ListCursors).
        CREATE TABLE cursor_key(id INTEGER PRIMARY KEY CHECK (id = 1), key BLOB NOT NULL) STRICT;
        INSERT INTO cursor_key VALUES (1, randomblob(\(ListCursors.keySize)));
        -- An app is known by number from its first mention on; spec is null until it is declared.
        CREATE TABLE app(number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, spec TEXT) STRICT;
        -- number: the order of lists.
        CREATE TABLE account(
            number INTEGER PRIMARY KEY,
            app INTEGER NOT NULL REFERENCES app,
            name TEXT NOT NULL,
            name_shown TEXT,
            role TEXT NOT NULL,
            password TEXT NOT NULL,
            disabled INTEGER NOT NULL,
            created INTEGER NOT NULL,
            UNIQUE (app, name)
        ) STRICT;
        CREATE INDEX account_app ON account(app);
        CREATE TABLE api_key(
            app INTEGER NOT NULL REFERENCES app,
            name TEXT NOT NULL,
            role TEXT NOT NULL,
            hash BLOB NOT NULL UNIQUE,
            created INTEGER NOT NULL,
            revoked INTEGER,
            PRIMARY KEY (app, name)
        ) STRICT, WITHOUT ROWID;
        -- The rules of an app's hub. Keys stand as they are: a token is checked with the key that signed it.
        CREATE TABLE hub_rule(
            app INTEGER NOT NULL REFERENCES app,
            name TEXT NOT NULL,
            rights TEXT NOT NULL,
            primary_key TEXT NOT NULL,
            secondary_key TEXT NOT NULL,
            created INTEGER NOT NULL,
            PRIMARY KEY (app, name)
        ) STRICT, WITHOUT ROWID;
        -- What is not worked on until it is resumed; app 0 = of all apps.
        CREATE TABLE pause(
            queue TEXT NOT NULL,
            app INTEGER NOT NULL,
            by TEXT NOT NULL,
            since INTEGER NOT NULL,
            PRIMARY KEY (queue, app)
        ) STRICT, WITHOUT ROWID;
        -- Rate limits: devices a second, and the theoretical arrival time of the next (GCRA), in nanoseconds of the store's clock.
        -- Where one of a service's credentials has a limit, each has a row; rate 0 = as fast as it goes, credential 0 = the default one.
        CREATE TABLE rate_limit(
            app INTEGER NOT NULL REFERENCES app,
            pns INTEGER NOT NULL,
            credential INTEGER NOT NULL,
            rate INTEGER NOT NULL,
            tat INTEGER NOT NULL,
            PRIMARY KEY (app, pns, credential)
        ) STRICT, WITHOUT ROWID;
        """

    private static let registrations = """
        -- The credentials that devices name, declared or not. Those with the default one name none.
        CREATE TABLE credential(
            number INTEGER PRIMARY KEY,
            app INTEGER NOT NULL REFERENCES app,
            pns INTEGER NOT NULL,
            name TEXT NOT NULL,
            UNIQUE (app, pns, name)
        ) STRICT;
        -- pns: the number of a RegistrationSlot. template: of a live registration for one; template_slot: what tells it from others of its
        -- device. tags: the numbers of a live registration's tags, as JSON; null = none. written: JSON of a WrittenDevice; null = none.
        CREATE TABLE registration(
            row INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again
            app INTEGER NOT NULL REFERENCES app,
            id TEXT NOT NULL,
            pns INTEGER,
            -- Of the table credential; null = the default one.
            credential INTEGER,
            handle TEXT,
            user TEXT,
            user_shown TEXT,
            state INTEGER NOT NULL,
            version INTEGER NOT NULL,
            updated INTEGER NOT NULL,
            expires INTEGER,
            ended_at INTEGER,
            ended_reason TEXT,
            tags TEXT,
            template INTEGER,
            template_slot TEXT, written TEXT
        ) STRICT;
        CREATE UNIQUE INDEX registration_id ON registration(app, id);
        -- Not of the live ones: an index that most rows of an app share would be taken for better ones.
        CREATE INDEX registration_ended ON registration(app, state) WHERE state <> 1;
        CREATE INDEX registration_expires ON registration(expires) WHERE state = 1 AND expires IS NOT NULL;
        CREATE INDEX registration_past ON registration(coalesce(ended_at, updated)) WHERE state <> 1;
        -- All live registrations of an app and service in the order of audiences, for expressions such as !beta. It is wide: only
        -- what goes through all of them may be reached by it. state is a column too, else SQLite would fetch each row for it.
        CREATE INDEX registration_live ON registration(app, pns, state) WHERE state = 1;
        -- A user's own tag: in the audience's order too.
        CREATE INDEX registration_user ON registration(app, user, state, pns) WHERE state = 1 AND user IS NOT NULL;
        CREATE INDEX registration_template ON registration(template) WHERE template IS NOT NULL;
        -- The live ones of each named credential: so that doctor finds those that are not declared any more.
        CREATE INDEX registration_credential ON registration(credential) WHERE state = 1 AND credential IS NOT NULL;
        CREATE INDEX registration_user_ended ON registration(app, user) WHERE state <> 1 AND user IS NOT NULL;
        -- By their last change, so that the oldest are forgotten first.
        CREATE INDEX registration_user_past ON registration(app, user, version, state)
            WHERE state <> 1 AND user IS NOT NULL;

        -- A user's own tag is in neither of these: the index of users stands for it. AUTOINCREMENT: a name goes with its user, and
        -- whoever still has its number must not find another's audience.
        CREATE TABLE tag_name(
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            app INTEGER NOT NULL REFERENCES app,
            name TEXT NOT NULL,
            name_shown TEXT,
            UNIQUE (app, name)
        ) STRICT;
        -- The primary key is the audience's order. No foreign keys: each would cost a look-up a row; the store's check does it.
        CREATE TABLE tagged(
            tag INTEGER NOT NULL,
            pns INTEGER NOT NULL,
            row INTEGER NOT NULL,
            PRIMARY KEY (tag, pns, row)
        ) STRICT, WITHOUT ROWID;

        -- The key of the numbers that stand for handles.
        CREATE TABLE handle_key(id INTEGER PRIMARY KEY CHECK (id = 1), key BLOB NOT NULL) STRICT;
        INSERT INTO handle_key VALUES (1, randomblob(16));
        -- An entry for each live registration. It holds no handles: an index of those was as large as all others together.
        CREATE TABLE handle_index(
            digest INTEGER NOT NULL,
            position INTEGER NOT NULL,
            row INTEGER NOT NULL,
            PRIMARY KEY (digest, position)
        ) STRICT, WITHOUT ROWID;
        -- Handles that left a live registration, and the last change that claimed each: an older one that comes late gets none.
        CREATE TABLE released_handle(
            app INTEGER NOT NULL REFERENCES app,
            pns INTEGER NOT NULL,
            handle BLOB NOT NULL,
            version INTEGER NOT NULL,
            at INTEGER NOT NULL,
            PRIMARY KEY (app, pns, handle)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX released_version ON released_handle(version);
        CREATE INDEX released_at ON released_handle(at);
        CREATE TABLE dead_handle(
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            row INTEGER NOT NULL,
            handle TEXT NOT NULL,
            -- With which it was sent to; 0 = the default one.
            credential INTEGER NOT NULL,
            before INTEGER NOT NULL,
            reason TEXT NOT NULL,
            -- A device is answered for as often as it is sent to before it is pruned.
            UNIQUE (row, handle, credential)
        ) STRICT;

        -- Ids that were deleted while nobody had them, and the last deletion of each; an operator's user is ''.
        CREATE TABLE tombstone(
            app INTEGER NOT NULL REFERENCES app,
            id TEXT NOT NULL,
            user TEXT NOT NULL,
            version INTEGER NOT NULL,
            at INTEGER NOT NULL,
            PRIMARY KEY (app, id, user)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX tombstone_user ON tombstone(app, user, version);
        CREATE INDEX tombstone_version ON tombstone(version);
        CREATE INDEX tombstone_at ON tombstone(at);
        """

    private static let jobs = """
        CREATE TABLE job(
            sequence INTEGER PRIMARY KEY AUTOINCREMENT,
            id BLOB NOT NULL UNIQUE,
            app INTEGER NOT NULL REFERENCES app,
            user TEXT,
            user_shown TEXT,
            key TEXT,
            kind INTEGER NOT NULL,
            priority INTEGER NOT NULL,
            platforms INTEGER NOT NULL,
            state INTEGER NOT NULL,
            work TEXT NOT NULL,
            -- The message that stands for it: until all of its audience is in batches, and then, where its only batch is in the columns
            -- below, that batch's.
            message INTEGER,
            fanned_out INTEGER NOT NULL DEFAULT 0,
            stopped INTEGER,
            expires INTEGER NOT NULL,
            -- When its time is over, by the clock that does not jump; null before its start. expires is what its sender was told.
            ends INTEGER,
            waiter TEXT,
            result TEXT,
            reason TEXT,
            accepted INTEGER NOT NULL,
            -- When it is to start, by the wall clock; null = at once.
            starts_at INTEGER,
            started INTEGER,
            finished INTEGER,
            -- Whether some of its batches, outcomes or devices are removed already.
            cleared INTEGER NOT NULL DEFAULT 0,
            -- Whether the content of the send was removed with a user.
            emptied INTEGER NOT NULL DEFAULT 0,
            -- The only batch of a small send (BatchTable): its service, how far its audience goes, its devices.
            inline_pns INTEGER,
            inline_to INTEGER,
            inline_size INTEGER,
            -- The sender's own name for it, by which jobs are listed.
            label TEXT
        ) STRICT;
        CREATE INDEX job_app ON job(app);
        CREATE INDEX job_user ON job(app, user) WHERE user IS NOT NULL;
        CREATE INDEX job_key ON job(app, key) WHERE key IS NOT NULL;
        CREATE INDEX job_label ON job(app, label) WHERE label IS NOT NULL;
        -- By what changes at a job's end alone: an index whose condition names the state is written anew whenever that changes.
        CREATE INDEX job_open ON job(app) WHERE finished IS NULL;
        CREATE INDEX job_ends ON job(ends) WHERE finished IS NULL AND stopped IS NULL;
        CREATE INDEX job_failed ON job(app, state) WHERE \(JobTransition.failed);
        CREATE INDEX job_stopped ON job(stopped) WHERE stopped IS NOT NULL;
        CREATE INDEX job_starts ON job(app, starts_at) WHERE \(JobTransition.scheduled);
        CREATE INDEX job_finished ON job(finished) WHERE finished IS NOT NULL;

        -- How many jobs are unfinished and scheduled, so that the limits on them cost no counting.
        CREATE TABLE backlog(
            id INTEGER PRIMARY KEY CHECK (id = 1),
            unfinished INTEGER NOT NULL,
            scheduled INTEGER NOT NULL
        ) STRICT;
        INSERT INTO backlog VALUES (1, 0, 0);

        -- All tags of a send for which one of many is enough, a line each; its job's work has the first alone.
        CREATE TABLE audience(job INTEGER PRIMARY KEY REFERENCES job, tags TEXT NOT NULL) STRICT;

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
        -- How far a campaign's audience is in batches, by service. devices: how many those had when they were written.
        CREATE TABLE cursor(
            job INTEGER NOT NULL REFERENCES job,
            pns INTEGER NOT NULL,
            after INTEGER NOT NULL,
            through INTEGER NOT NULL,
            next_page INTEGER NOT NULL,
            done INTEGER NOT NULL,
            devices INTEGER NOT NULL,
            PRIMARY KEY (job, pns)
        ) STRICT, WITHOUT ROWID;

        \(BatchTable.schema)

        -- The fence: a batch and attempt is counted once. total = accepted + failed + expired + cancelled + retries.
        CREATE TABLE outcome(
            job INTEGER NOT NULL REFERENCES job,
            pns INTEGER NOT NULL,
            page INTEGER NOT NULL,
            attempt INTEGER NOT NULL,
            accepted INTEGER NOT NULL,
            failed INTEGER NOT NULL,
            expired INTEGER NOT NULL,
            cancelled INTEGER NOT NULL,
            retries INTEGER NOT NULL,
            PRIMARY KEY (job, pns, page, attempt)
        ) STRICT, WITHOUT ROWID;

        -- Counts by service and class; those of completed inline batches stand in their jobs, and in the view with all others.
        CREATE TABLE delivery_count(
            job INTEGER NOT NULL REFERENCES job,
            pns INTEGER NOT NULL,
            class INTEGER NOT NULL,
            count INTEGER NOT NULL,
            PRIMARY KEY (job, pns, class)
        ) STRICT, WITHOUT ROWID;
        CREATE VIEW job_counts(job, pns, class, count) AS
            SELECT job, pns, class, count FROM delivery_count
            UNION ALL SELECT sequence, inline_pns, \(DeliveryCountClass.targets.number), inline_size FROM job
                WHERE inline_pns IS NOT NULL AND finished IS NOT NULL
            UNION ALL SELECT sequence, inline_pns, \(DeliveryCountClass.accepted.number), inline_size FROM job
                WHERE inline_pns IS NOT NULL AND finished IS NOT NULL;

        -- Single devices: those that failed, and all where the app records all. row: as in recipient. reference: from there.
        CREATE TABLE delivery(
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            job INTEGER NOT NULL REFERENCES job,
            pns INTEGER NOT NULL,
            row INTEGER NOT NULL,
            class INTEGER NOT NULL,
            status INTEGER NOT NULL,
            reason TEXT NOT NULL,
            at INTEGER NOT NULL,
            reference TEXT
        ) STRICT;
        CREATE INDEX delivery_job ON delivery(job);
        """

    private static let deadLetters = """
        -- app: '' where it names none that is declared. number: among the app's, by which it is shown. size: of the body that came; only one
        -- that can be read is kept. closed: what the dead letter closed (DeadLetterEffect), of that job, and of that batch of it.
        -- work: of a register job that it closed, what it was, for a replay.
        CREATE TABLE dead(
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            queue TEXT NOT NULL,
            type TEXT NOT NULL,
            message TEXT NOT NULL,
            digest INTEGER NOT NULL,
            app TEXT NOT NULL,
            number INTEGER NOT NULL,
            reason TEXT NOT NULL,
            body BLOB NOT NULL,
            size INTEGER NOT NULL,
            at INTEGER NOT NULL,
            closed INTEGER NOT NULL DEFAULT 0,
            job BLOB,
            pns INTEGER,
            page INTEGER,
            attempt INTEGER,
            work TEXT,
            UNIQUE (queue, type, message, digest),
            UNIQUE (app, number)
        ) STRICT;
        -- The last number of each app's, which is never used again.
        CREATE TABLE dead_number(app TEXT PRIMARY KEY, last INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        CREATE INDEX dead_job ON dead(job) WHERE job IS NOT NULL;
        CREATE INDEX dead_work ON dead(at) WHERE work IS NOT NULL;
        -- Messages that were about to be looked at alone. at: by the store's clock. There are as many as workers have died of.
        CREATE TABLE suspect(fingerprint BLOB PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        CREATE INDEX suspect_at ON suspect(at);
        """

    private static let contents = """
        -- key: the backend's key that uploaded it, where no account did. number: never used again, so that the removal of a user knows
        -- what was there before.
        CREATE TABLE content(
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            app INTEGER NOT NULL REFERENCES app,
            id TEXT NOT NULL,
            owner TEXT,
            key TEXT,
            media_type TEXT NOT NULL,
            bytes BLOB NOT NULL,
            created INTEGER NOT NULL,
            UNIQUE (app, id)
        ) STRICT;
        CREATE INDEX content_created ON content(created);
        CREATE INDEX content_owner ON content(app, owner) WHERE owner IS NOT NULL;
        """
}
