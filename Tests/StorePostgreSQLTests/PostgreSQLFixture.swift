import Foundation
import PushModel
import Store
import StoreContract
import StoreKit
import Testing

/// PostgreSQL passes what any driver must of administration, in the server that `deploy/test postgres` starts.
@Suite(
    .passesAdministration(
        as: "PostgreSQL",
        if: ProcessInfo.processInfo.environment["PUSHLINE_TEST_POSTGRES"] != nil,
        { try PostgreSQLFixture($0) }
    )
) struct PostgreSQLContract {}

/// The stores of the contract's suites about administration.
final class PostgreSQLFixture: AdministrationFixture {
    let administration: any AppAdministration
    let deadLetters: any DeadLetterStore
    let engine: PostgreSQLEngine
    let time = TestTime()
    private let clock: StoreClock
    /// Each test has tables of its own.
    private let schema = "t" + UUID().uuidString.replacingOccurrences(of: "-", with: "").lowercased()

    init(_ options: StoreOptions) throws {
        self.clock = StoreClock(source: self.time, shift: self.time.wall.milliseconds - self.time.sinceBoot)
        let connection = try Self.connection(to: self.schema)
        try connection.run("CREATE SCHEMA \(self.schema)")
        for table in Self.tables { try connection.run(table) }
        let engine = try PostgreSQLEngine(connection, clock: self.clock)
        (self.engine, self.administration, self.deadLetters) = (engine, engine, engine)
    }

    func anotherAdministration() throws -> any AppAdministration {
        try PostgreSQLEngine(Self.connection(to: self.schema), clock: self.clock)
    }

    private static func connection(to schema: String) throws -> PostgreSQLConnection {
        guard let address = ProcessInfo.processInfo.environment["PUSHLINE_TEST_POSTGRES"] else {
            throw Unexpected("PUSHLINE_TEST_POSTGRES names no server: deploy/test postgres starts one")
        }
        let connection = try PostgreSQLConnection(address)
        try connection.run("SET search_path TO \(schema)")
        return connection
    }

    /// As in the driver for SQLite, as far as the statements of administration need them.
    private static let tables = [
        "CREATE TABLE app(number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, spec text)",
        """
        CREATE TABLE account(
            number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, app bigint NOT NULL REFERENCES app, name text NOT NULL,
            name_shown text, role text NOT NULL, password text NOT NULL, disabled bigint NOT NULL, created bigint NOT NULL,
            UNIQUE (app, name))
        """,
        """
        CREATE TABLE api_key(
            app bigint NOT NULL REFERENCES app, name text NOT NULL, role text NOT NULL, hash bytea NOT NULL UNIQUE,
            created bigint NOT NULL, revoked bigint, PRIMARY KEY (app, name))
        """,
        """
        CREATE TABLE hub_rule(
            app bigint NOT NULL REFERENCES app, name text NOT NULL, rights text NOT NULL, primary_key text NOT NULL,
            secondary_key text NOT NULL, created bigint NOT NULL, PRIMARY KEY (app, name))
        """,
        """
        CREATE TABLE pause(
            queue text NOT NULL, app bigint NOT NULL, by text NOT NULL, since bigint NOT NULL, PRIMARY KEY (queue, app))
        """,
        """
        CREATE TABLE session(
            number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, hash bytea NOT NULL UNIQUE,
            app bigint NOT NULL REFERENCES app, "user" text NOT NULL, user_shown text, demonstration bigint NOT NULL,
            expires bigint NOT NULL, ends bigint NOT NULL, latest bigint NOT NULL)
        """,
        """
        CREATE TABLE credential(
            number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, app bigint NOT NULL REFERENCES app, pns bigint NOT NULL,
            name text NOT NULL, UNIQUE (app, pns, name))
        """,
        """
        CREATE TABLE rate_limit(
            app bigint NOT NULL REFERENCES app, pns bigint NOT NULL, credential bigint NOT NULL, rate bigint NOT NULL,
            tat bigint NOT NULL, PRIMARY KEY (app, pns, credential))
        """,
        // Of these the statements ask only whether the app has any.
        "CREATE TABLE registration(app bigint NOT NULL)", "CREATE TABLE content(app bigint NOT NULL)",
        """
        CREATE TABLE dead(
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, queue text NOT NULL, type text NOT NULL, message text NOT NULL,
            digest bigint NOT NULL, app text NOT NULL, number bigint NOT NULL, reason text NOT NULL, body bytea NOT NULL,
            size bigint NOT NULL, at bigint NOT NULL, closed bigint NOT NULL DEFAULT 0, job bytea, pns bigint, page bigint,
            attempt bigint, work text, UNIQUE (queue, type, message, digest), UNIQUE (app, number))
        """,
        "CREATE TABLE dead_number(app text PRIMARY KEY, last bigint NOT NULL)",
        """
        CREATE TABLE message(
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, app bigint NOT NULL REFERENCES app, queue bigint NOT NULL,
            priority bigint NOT NULL, state bigint NOT NULL, due bigint NOT NULL, blocked_on bigint NOT NULL DEFAULT 0,
            epoch bigint NOT NULL DEFAULT 0, claims bigint NOT NULL DEFAULT 0, redeliveries bigint NOT NULL DEFAULT 0,
            open bigint NOT NULL, size bigint NOT NULL, first bigint NOT NULL, last bigint NOT NULL, reason text, cause text)
        """,
        """
        CREATE TABLE job(
            sequence bigint PRIMARY KEY, id bytea NOT NULL UNIQUE, app bigint NOT NULL REFERENCES app, "user" text, user_shown text,
            key text, kind bigint NOT NULL, priority bigint NOT NULL, platforms bigint NOT NULL, state bigint NOT NULL,
            work text NOT NULL, message bigint, fanned_out bigint NOT NULL DEFAULT 0, stopped bigint, expires bigint NOT NULL,
            ends bigint, waiter text, result text, reason text, accepted bigint NOT NULL, starts_at bigint, started bigint,
            finished bigint, cleared bigint NOT NULL DEFAULT 0, emptied bigint NOT NULL DEFAULT 0, inline_pns bigint,
            inline_to bigint, inline_size bigint, label text)
        """,
        """
        CREATE TABLE batch(
            job bigint, pns bigint, page bigint, attempt bigint, from_id bigint, to_id bigint, size bigint, open bigint,
            message bigint, due bigint, retries bytea, retry_reason text, retry_cause text, template bigint,
            PRIMARY KEY (job, pns, page, attempt))
        """,
        """
        CREATE TABLE outcome(
            job bigint, pns bigint, page bigint, attempt bigint, accepted bigint, failed bigint, expired bigint, cancelled bigint,
            retries bigint, PRIMARY KEY (job, pns, page, attempt))
        """,
        "CREATE TABLE backlog(unfinished bigint NOT NULL, scheduled bigint NOT NULL)",
        "INSERT INTO backlog VALUES (0, 0)",
        "CREATE TABLE delivery_count(job bigint, pns bigint, class bigint, count bigint, PRIMARY KEY (job, pns, class))",
        """
        CREATE TABLE platform_count(
            job bigint, platform text, class bigint, count bigint, PRIMARY KEY (job, platform, class))
        """,
        """
        CREATE TABLE delivery(
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, job bigint, pns bigint, "row" bigint, class bigint, status bigint,
            reason text, at bigint, reference text)
        """,
        "CREATE TABLE recipient(job bigint, pns bigint, number bigint, reference text, PRIMARY KEY (job, pns, number))",
        """
        CREATE TABLE hub_call(
            job bigint, pns bigint, number bigint, state text, until bigint, PRIMARY KEY (job, pns, number))
        """,
        "CREATE TABLE template(number bigint PRIMARY KEY, content text NOT NULL)",
    ]
}
