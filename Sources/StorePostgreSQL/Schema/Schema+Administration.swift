import Store

extension Schema {
    /// Texts compare by their bytes, as in every driver.
    static let text = #"text COLLATE "C""#
    /// A number that is never used again: the order of lists.
    static let number = "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"

    static let administration = [
        // An app is known by number from its first mention on; spec is null until it is declared.
        "CREATE TABLE app(number \(number), name \(text) NOT NULL UNIQUE, spec \(text))",
        """
        CREATE TABLE account(
            number \(number), app bigint NOT NULL REFERENCES app, name \(text) NOT NULL, name_shown \(text),
            role \(text) NOT NULL, password \(text) NOT NULL, disabled bigint NOT NULL, created bigint NOT NULL,
            UNIQUE (app, name))
        """,
        """
        CREATE TABLE api_key(
            app bigint NOT NULL REFERENCES app, name \(text) NOT NULL, role \(text) NOT NULL, hash bytea NOT NULL UNIQUE,
            created bigint NOT NULL, revoked bigint, PRIMARY KEY (app, name))
        """,
        """
        CREATE TABLE hub_rule(
            app bigint NOT NULL REFERENCES app, name \(text) NOT NULL, rights \(text) NOT NULL, primary_key \(text) NOT NULL,
            secondary_key \(text) NOT NULL, created bigint NOT NULL, PRIMARY KEY (app, name))
        """,
        // App 0 = of all apps.
        """
        CREATE TABLE pause(
            queue \(text) NOT NULL, app bigint NOT NULL, by \(text) NOT NULL, since bigint NOT NULL, PRIMARY KEY (queue, app))
        """,
        """
        CREATE TABLE session(
            number \(number), hash bytea NOT NULL UNIQUE, app bigint NOT NULL REFERENCES app, "user" \(text) NOT NULL,
            user_shown \(text), demonstration bigint NOT NULL, expires bigint NOT NULL, ends bigint NOT NULL,
            latest bigint NOT NULL)
        """,
        "CREATE INDEX session_of_user ON session(app, \"user\")",
        "CREATE INDEX session_ends ON session(ends)",
        // Who has the roles that one process has for all: until, by the server's clock.
        "CREATE TABLE leader(role \(text) PRIMARY KEY, holder \(text) NOT NULL, until timestamptz NOT NULL)",
        """
        CREATE TABLE rate_limit(
            app bigint NOT NULL REFERENCES app, pns bigint NOT NULL, credential bigint NOT NULL, rate bigint NOT NULL,
            tat bigint NOT NULL, PRIMARY KEY (app, pns, credential))
        """,
    ]

    /// What operators have done.
    ///
    /// As with jobs, no app is taken for one of few: a list of one must not walk through what another has.
    static let acts = [
        """
        CREATE TABLE act(
            number \(number), app bigint REFERENCES app, at bigint NOT NULL, actor \(text) NOT NULL, via \(text) NOT NULL,
            origin \(text) NOT NULL, kind \(text) NOT NULL, "user" \(text), target \(text), request \(text),
            state \(text) NOT NULL, ended bigint, result \(text))
        """,
        "CREATE INDEX act_app ON act(app, number)",
        "CREATE INDEX act_actor ON act(app, actor, number)",
        "CREATE INDEX act_kind ON act(app, kind, number)",
        "CREATE INDEX act_user ON act(app, \"user\") WHERE \"user\" IS NOT NULL",
        """
        ALTER TABLE act ALTER COLUMN app SET (n_distinct = 10000), ALTER COLUMN actor SET (n_distinct = -0.1),
            ALTER COLUMN kind SET (n_distinct = -0.1)
        """,
    ]

    /// What quotas are compared with is added up when it is asked for: a row that each new content changes would be held by one at a time
    /// until its commit, and the lengths stand beside the bytes.
    static let contents = [
        """
        CREATE TABLE content(
            number \(number), app bigint NOT NULL REFERENCES app, id \(text) NOT NULL, owner \(text), key \(text),
            media_type \(text) NOT NULL, bytes bytea NOT NULL, created bigint NOT NULL, UNIQUE (app, id))
        """,
        "CREATE INDEX content_created ON content(created)",
        "CREATE INDEX content_uploader ON content(app, (\(uploader)))",
        """
        CREATE VIEW content_usage(app, uploader, bytes) AS
            SELECT app, \(uploader), CAST(sum(octet_length(bytes) + \(ContentAcceptance.overhead)) AS bigint) FROM content
                GROUP BY app, \(uploader)
            UNION ALL
            SELECT app, '', CAST(sum(octet_length(bytes) + \(ContentAcceptance.overhead)) AS bigint) FROM content GROUP BY app
        """,
        """
        CREATE TABLE rich(
            number \(number), app bigint NOT NULL REFERENCES app, id bigint NOT NULL, sender \(text), sender_shown \(text),
            addressee \(text) NOT NULL, addressee_shown \(text), message \(text) NOT NULL, rich_type \(text) NOT NULL,
            content \(text), secure bigint NOT NULL, created bigint NOT NULL, read bigint, UNIQUE (app, id))
        """,
        "CREATE INDEX rich_created ON rich(created)",
        "CREATE INDEX rich_content ON rich(app, content, addressee) WHERE content IS NOT NULL",
        "CREATE INDEX rich_number ON rich(app, number)",
        "CREATE INDEX rich_sender ON rich(app, sender, number)",
        "CREATE INDEX rich_addressee ON rich(app, addressee, number)",
        "CREATE VIEW rich_count(app, count) AS SELECT app, count(*) FROM rich GROUP BY app",
    ]

    private static let uploader = "coalesce('account:' || owner, 'key:' || key, 'key:')"

    static let deadLetters = [
        """
        CREATE TABLE dead(
            id \(number), queue \(text) NOT NULL, type \(text) NOT NULL, message \(text) NOT NULL, digest bigint NOT NULL,
            app \(text) NOT NULL, number bigint NOT NULL, reason \(text) NOT NULL, body bytea NOT NULL, size bigint NOT NULL,
            at bigint NOT NULL, closed bigint NOT NULL DEFAULT 0, job bytea, pns bigint, page bigint, attempt bigint,
            work \(text), UNIQUE (queue, type, message, digest), UNIQUE (app, number))
        """,
        "CREATE INDEX dead_job ON dead(job) WHERE job IS NOT NULL",
        "CREATE INDEX dead_work ON dead(at) WHERE work IS NOT NULL",
        "CREATE TABLE dead_number(app \(text) PRIMARY KEY, last bigint NOT NULL)",
    ]
}
