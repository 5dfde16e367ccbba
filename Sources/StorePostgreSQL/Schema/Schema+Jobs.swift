import PushModel
import StoreKit
import StoreSQL

/// Jobs, their messages, batches and outcomes.
///
/// What changes in an ordinary job's life stands in no index, nor in an index's condition, so that each change of a job is written beside
/// its row (HOT). What rare jobs are found by is a column of its own, which stays null in all others. Two tables are excepted, whose rows
/// are found by what changes: a message by its state and when it is due, and a batch while it is open. A message stands for up to 500
/// jobs or batches, a batch that has a row for up to a thousand devices. Rows of jobs name apps without a foreign key, which would hold
/// the app's row for each of them; an app is never removed.
extension Schema {
    static let outbox = [
        // An accepted group takes one block of numbers: its jobs are neighbours, and no stranger stands between.
        "CREATE SEQUENCE job_sequence INCREMENT BY \(JobNumbers.block)",
        // Never used again, for messages of a number may still be at the broker.
        "CREATE SEQUENCE message_number",
        """
        CREATE TABLE message(
            id bigint PRIMARY KEY DEFAULT nextval('message_number'), app bigint NOT NULL, queue smallint NOT NULL,
            priority smallint NOT NULL, state smallint NOT NULL, due bigint NOT NULL, blocked_on integer NOT NULL DEFAULT 0,
            epoch integer NOT NULL DEFAULT 0, claims integer NOT NULL DEFAULT 0, redeliveries integer NOT NULL DEFAULT 0,
            open integer NOT NULL, size integer NOT NULL, first bigint NOT NULL, last bigint NOT NULL, reason \(text), cause \(text))
            WITH (fillfactor = 50, \(churning))
        """,
        // What is due, in groups that are looked at one after the other, and both windows (rule 12).
        "CREATE INDEX message_due ON message(priority, app, queue, state, blocked_on, due) INCLUDE (size)",
        // How many jobs are unfinished and scheduled: the sum of rows that are each changed by a few connections, so that nobody waits for
        // another's commit.
        """
        CREATE TABLE backlog(slot integer PRIMARY KEY, unfinished bigint NOT NULL, scheduled bigint NOT NULL)
            WITH (fillfactor = 10, \(churning))
        """,
        "INSERT INTO backlog SELECT slot, 0, 0 FROM generate_series(0, \(Counts.backlogSlots - 1)) AS slot",
        "CREATE TABLE suspect(fingerprint bytea PRIMARY KEY, at bigint NOT NULL)",
        "CREATE INDEX suspect_at ON suspect(at)",
    ]

    /// Rows that come, change and go all the time: they are cleaned up by their number, and without pauses.
    private static let churning = """
        autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 0
        """

    static let jobs = [
        // Half of each page is left for the two changes of most jobs; a long work stands beside the table.
        """
        CREATE TABLE job(
            sequence bigint PRIMARY KEY, id bytea NOT NULL UNIQUE, app bigint NOT NULL, "user" \(text), user_shown \(text),
            key \(text), kind smallint NOT NULL, priority smallint NOT NULL, platforms integer NOT NULL, state smallint NOT NULL,
            work \(text) NOT NULL, message bigint, fanned_out smallint NOT NULL DEFAULT 0, stopped bigint, expires bigint NOT NULL,
            ends bigint, waiter \(text), result \(text), reason \(text), accepted bigint NOT NULL, starts_at bigint, started bigint,
            finished bigint, cleared smallint NOT NULL DEFAULT 0, emptied smallint NOT NULL DEFAULT 0, inline_pns smallint,
            inline_to bigint, inline_size integer, label \(text), request \(text),
            scheduled bigint GENERATED ALWAYS AS (CASE WHEN \(JobTransition.scheduled) THEN starts_at END) STORED,
            failed smallint GENERATED ALWAYS AS (CASE WHEN \(JobTransition.failed) THEN state END) STORED,
            closing bigint GENERATED ALWAYS AS (CASE WHEN \(JobCompletion.isFannedOut) THEN sequence END) STORED)
            WITH (fillfactor = 50, toast_tuple_target = 512)
        """,
        "CREATE INDEX job_app ON job(app, sequence)",
        "CREATE INDEX job_user ON job(app, \"user\", sequence) WHERE \"user\" IS NOT NULL",
        "CREATE INDEX job_key ON job(app, key, sequence) WHERE key IS NOT NULL",
        "CREATE INDEX job_label ON job(app, label, sequence) WHERE label IS NOT NULL",
        "CREATE INDEX job_ends ON job(ends)",
        // Of jobs whose time was over until then all are final, or being stopped.
        "CREATE TABLE overdue(through bigint NOT NULL)",
        "INSERT INTO overdue VALUES (0)",
        "CREATE INDEX job_stopped ON job(stopped) WHERE stopped IS NOT NULL",
        "CREATE INDEX job_scheduled ON job(app, scheduled) WHERE scheduled IS NOT NULL",
        "CREATE INDEX job_failed ON job(app, failed, sequence) WHERE failed IS NOT NULL",
        "CREATE INDEX job_closing ON job(closing) WHERE closing IS NOT NULL",
        // All tags of a send for which one of many is enough, a line each; its job's work has the first alone.
        "CREATE TABLE audience(job bigint PRIMARY KEY, tags \(text) NOT NULL)",
        """
        CREATE TABLE idempotency(
            app bigint NOT NULL, caller \(text) NOT NULL, route \(text) NOT NULL, key \(text) NOT NULL, hash bytea NOT NULL,
            job bigint NOT NULL, created bigint NOT NULL, PRIMARY KEY (app, caller, route, key))
        """,
        "CREATE INDEX idempotency_job ON idempotency(job)",
        """
        CREATE TABLE recipient(
            job bigint, pns smallint, number bigint, handle \(text), credential bigint, reference \(text),
            PRIMARY KEY (job, pns, number))
        """,
    ]

    static let batches = [
        // How far a campaign's audience is in batches, by service.
        """
        CREATE TABLE cursor(
            job bigint, pns smallint, after bigint NOT NULL, through bigint NOT NULL, next_page integer NOT NULL,
            done smallint NOT NULL, devices integer NOT NULL, PRIMARY KEY (job, pns)) WITH (fillfactor = 50)
        """,
        """
        CREATE TABLE batch(
            job bigint, pns smallint, page integer, attempt integer, from_id bigint NOT NULL, to_id bigint NOT NULL,
            size integer NOT NULL, open smallint NOT NULL, message bigint NOT NULL, due bigint, retries bytea,
            retry_reason \(text), retry_cause \(text), template bigint, PRIMARY KEY (job, pns, page, attempt))
        """,
        // open changes once, as the batch is closed. That costs an entry more in the key's index, for these two only lose theirs; and whoever
        // asks whether anything of a job or a message is open, at each commit of outcomes, would else read all that was closed before.
        // A small send's only batch has no row.
        "CREATE INDEX batch_open ON batch(job) WHERE open = 1",
        "CREATE INDEX batch_message ON batch(message) WHERE open = 1",
        "CREATE INDEX batch_template ON batch(template) WHERE template IS NOT NULL",
        // The fence: a batch and attempt is counted once.
        """
        CREATE TABLE outcome(
            job bigint, pns smallint, page integer, attempt integer, accepted integer NOT NULL, failed integer NOT NULL,
            expired integer NOT NULL, cancelled integer NOT NULL, retries integer NOT NULL, PRIMARY KEY (job, pns, page, attempt))
        """,
        // As the backlog: of a count the rows of all slots are added up, for a campaign's outcomes come over many connections.
        """
        CREATE TABLE delivery_count(
            job bigint, pns smallint, class smallint, count bigint NOT NULL, slot integer DEFAULT \(countSlot),
            PRIMARY KEY (job, pns, class, slot)) WITH (fillfactor = 50)
        """,
        """
        CREATE TABLE platform_count(
            job bigint, platform \(text), class smallint, count bigint NOT NULL, slot integer DEFAULT \(countSlot),
            PRIMARY KEY (job, platform, class, slot)) WITH (fillfactor = 50)
        """,
        """
        CREATE VIEW job_counts(job, pns, class, count) AS
            SELECT job, pns, class, count FROM delivery_count
            UNION ALL SELECT sequence, inline_pns, \(DeliveryCountClass.targets.number), inline_size FROM job
                WHERE inline_pns IS NOT NULL AND finished IS NOT NULL
            UNION ALL SELECT sequence, inline_pns, \(DeliveryCountClass.accepted.number), inline_size FROM job
                WHERE inline_pns IS NOT NULL AND finished IS NOT NULL
        """,
        """
        CREATE TABLE delivery(
            id \(number), job bigint NOT NULL, pns smallint NOT NULL, "row" bigint NOT NULL, class smallint NOT NULL,
            status integer NOT NULL, reason \(text) NOT NULL, at bigint NOT NULL, reference \(text))
        """,
        "CREATE INDEX delivery_job ON delivery(job, id)",
        """
        CREATE TABLE hub_call(
            job bigint, pns smallint, number bigint, state \(text) NOT NULL, until bigint NOT NULL, notification \(text),
            outcome \(text), devices \(text), telemetry \(text), asked integer NOT NULL DEFAULT 0, due bigint,
            PRIMARY KEY (job, pns, number))
        """,
        "CREATE INDEX hub_call_due ON hub_call(due) WHERE due IS NOT NULL",
    ]

    /// Which of a count's rows a connection adds to.
    private static let countSlot = "(pg_backend_pid() % 8)"
}

/// The numbers of jobs and messages.
enum JobNumbers {
    /// How many a group of new jobs takes: a group has at most ``OutboxMessage/maximumMembers``.
    static let block = 512
}
