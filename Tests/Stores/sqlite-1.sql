CREATE TABLE schema(
    id INTEGER PRIMARY KEY CHECK (id = 1),
    version INTEGER NOT NULL,
    opens_from INTEGER NOT NULL
) STRICT;
CREATE TABLE clock(
    id INTEGER PRIMARY KEY CHECK (id = 1),
    boot TEXT NOT NULL,
    shift INTEGER NOT NULL,
    seen INTEGER NOT NULL
) STRICT;
CREATE TABLE cursor_key(id INTEGER PRIMARY KEY CHECK (id = 1), key BLOB NOT NULL) STRICT;
CREATE TABLE app(number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, spec TEXT) STRICT;
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
CREATE TABLE api_key(
    app INTEGER NOT NULL REFERENCES app,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    hash BLOB NOT NULL UNIQUE,
    created INTEGER NOT NULL,
    revoked INTEGER,
    PRIMARY KEY (app, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE hub_rule(
    app INTEGER NOT NULL REFERENCES app,
    name TEXT NOT NULL,
    rights TEXT NOT NULL,
    primary_key TEXT NOT NULL,
    secondary_key TEXT NOT NULL,
    created INTEGER NOT NULL,
    PRIMARY KEY (app, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE pause(
    queue TEXT NOT NULL,
    app INTEGER NOT NULL,
    by TEXT NOT NULL,
    since INTEGER NOT NULL,
    PRIMARY KEY (queue, app)
) STRICT, WITHOUT ROWID;
CREATE TABLE rate_limit(
    app INTEGER NOT NULL REFERENCES app,
    pns INTEGER NOT NULL,
    credential INTEGER NOT NULL,
    rate INTEGER NOT NULL,
    tat INTEGER NOT NULL,
    PRIMARY KEY (app, pns, credential)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE template(
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    app INTEGER NOT NULL REFERENCES app,
    digest BLOB NOT NULL,
    content TEXT NOT NULL,
    UNIQUE (app, digest)
) STRICT;
CREATE TABLE credential(
    number INTEGER PRIMARY KEY,
    app INTEGER NOT NULL REFERENCES app,
    pns INTEGER NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (app, pns, name)
) STRICT;
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
CREATE TABLE tag_name(
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    app INTEGER NOT NULL REFERENCES app,
    name TEXT NOT NULL,
    name_shown TEXT,
    UNIQUE (app, name)
) STRICT;
CREATE TABLE tagged(
    tag INTEGER NOT NULL,
    pns INTEGER NOT NULL,
    row INTEGER NOT NULL,
    PRIMARY KEY (tag, pns, row)
) STRICT, WITHOUT ROWID;
CREATE TABLE handle_key(id INTEGER PRIMARY KEY CHECK (id = 1), key BLOB NOT NULL) STRICT;
CREATE TABLE handle_index(
    digest INTEGER NOT NULL,
    position INTEGER NOT NULL,
    row INTEGER NOT NULL,
    PRIMARY KEY (digest, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE released_handle(
    app INTEGER NOT NULL REFERENCES app,
    pns INTEGER NOT NULL,
    handle BLOB NOT NULL,
    version INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (app, pns, handle)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE tombstone(
    app INTEGER NOT NULL REFERENCES app,
    id TEXT NOT NULL,
    user TEXT NOT NULL,
    version INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (app, id, user)
) STRICT, WITHOUT ROWID;
CREATE TABLE message(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    app INTEGER NOT NULL REFERENCES app,
    queue INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    state INTEGER NOT NULL,
    due INTEGER NOT NULL,
    -- Bits of the services whose credit it waits for, and one more where it has begun there; 0 = none.
    blocked_on INTEGER NOT NULL DEFAULT 0,
    epoch INTEGER NOT NULL DEFAULT 0,
    -- How often it was claimed since its fan-out last came anywhere.
    claims INTEGER NOT NULL DEFAULT 0,
    redeliveries INTEGER NOT NULL DEFAULT 0,
    open INTEGER NOT NULL,
    -- The devices of a delivery message, as they were when it was written; what the window counts. 0 = of another queue.
    size INTEGER NOT NULL,
    -- Between which jobs its members are: where to look, not who is one.
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    -- What a deferred one waits for: a WaitReason's text and cause.
    reason TEXT,
    cause TEXT
) STRICT;
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
    hub_state TEXT,
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
CREATE TABLE backlog(
    id INTEGER PRIMARY KEY CHECK (id = 1),
    unfinished INTEGER NOT NULL,
    scheduled INTEGER NOT NULL
) STRICT;
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
CREATE TABLE recipient(
    job INTEGER NOT NULL,
    pns INTEGER NOT NULL,
    number INTEGER NOT NULL,
    handle TEXT,
    -- Of a handle, as in registration.
    credential INTEGER,
    reference TEXT,
    PRIMARY KEY (job, pns, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE hub_call(
    job INTEGER NOT NULL,
    pns INTEGER NOT NULL,
    number INTEGER NOT NULL,
    state TEXT NOT NULL,
    until INTEGER NOT NULL,
    notification TEXT,
    outcome TEXT,
    devices TEXT,
    telemetry TEXT,
    asked INTEGER NOT NULL DEFAULT 0,
    due INTEGER,
    PRIMARY KEY (job, pns, number)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE batch(
    job INTEGER NOT NULL REFERENCES job,
    pns INTEGER NOT NULL,
    page INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    from_id INTEGER NOT NULL,
    to_id INTEGER NOT NULL,
    size INTEGER NOT NULL,
    open INTEGER NOT NULL,
    message INTEGER NOT NULL,
    due INTEGER,
    retries BLOB,
    -- What it waits for: a WaitReason's text and cause.
    retry_reason TEXT,
    retry_cause TEXT,
    -- Of the table template: of its range only those that have it are meant; null = all.
    template INTEGER,
    PRIMARY KEY (job, pns, page, attempt)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE delivery_count(
    job INTEGER NOT NULL REFERENCES job,
    pns INTEGER NOT NULL,
    class INTEGER NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (job, pns, class)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE platform_count(
    job INTEGER NOT NULL REFERENCES job,
    platform TEXT NOT NULL,
    class INTEGER NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (job, platform, class)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE dead_number(app TEXT PRIMARY KEY, last INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE suspect(fingerprint BLOB PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
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
CREATE TABLE content_usage(
    app INTEGER NOT NULL REFERENCES app,
    uploader TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (app, uploader)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE rich_count(app INTEGER PRIMARY KEY REFERENCES app, count INTEGER NOT NULL) STRICT;
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
CREATE TABLE removed_user(
    app INTEGER NOT NULL REFERENCES app,
    digest INTEGER NOT NULL,
    version INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (app, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX account_app ON account(app);
CREATE INDEX session_user ON session(app, user);
CREATE INDEX session_ends ON session(ends);
CREATE UNIQUE INDEX registration_id ON registration(app, id);
CREATE INDEX registration_ended ON registration(app, state) WHERE state <> 1;
CREATE INDEX registration_expires ON registration(expires) WHERE state = 1 AND expires IS NOT NULL;
CREATE INDEX registration_past ON registration(coalesce(ended_at, updated)) WHERE state <> 1;
CREATE INDEX registration_live ON registration(app, pns, state) WHERE state = 1;
CREATE INDEX registration_user ON registration(app, user, state, pns) WHERE state = 1 AND user IS NOT NULL;
CREATE INDEX registration_template ON registration(template) WHERE template IS NOT NULL;
CREATE INDEX registration_credential ON registration(credential) WHERE state = 1 AND credential IS NOT NULL;
CREATE INDEX registration_user_ended ON registration(app, user) WHERE state <> 1 AND user IS NOT NULL;
CREATE INDEX registration_user_past ON registration(app, user, version, state)
    WHERE state <> 1 AND user IS NOT NULL;
CREATE INDEX released_version ON released_handle(version);
CREATE INDEX released_at ON released_handle(at);
CREATE INDEX tombstone_user ON tombstone(app, user, version);
CREATE INDEX tombstone_version ON tombstone(version);
CREATE INDEX tombstone_at ON tombstone(at);
CREATE INDEX message_due ON message(priority, app, queue, state, blocked_on, due);
CREATE INDEX message_window ON message(app, queue, priority, state, size) WHERE size > 0 AND state IN (1, 2);
CREATE INDEX job_app ON job(app);
CREATE INDEX job_user ON job(app, user) WHERE user IS NOT NULL;
CREATE INDEX job_key ON job(app, key) WHERE key IS NOT NULL;
CREATE INDEX job_label ON job(app, label) WHERE label IS NOT NULL;
CREATE INDEX job_open ON job(app) WHERE finished IS NULL;
CREATE INDEX job_ends ON job(ends) WHERE finished IS NULL AND stopped IS NULL;
CREATE INDEX job_failed ON job(app, state) WHERE state > 10;
CREATE INDEX job_stopped ON job(stopped) WHERE stopped IS NOT NULL;
CREATE INDEX job_starts ON job(app, starts_at) WHERE state = 0;
CREATE INDEX job_finished ON job(finished) WHERE finished IS NOT NULL;
CREATE INDEX idempotency_job ON idempotency(job);
CREATE INDEX hub_call_due ON hub_call(due) WHERE due IS NOT NULL;
CREATE INDEX batch_open ON batch(job, open, attempt, message) WHERE open = 1;
CREATE INDEX batch_template ON batch(template, open) WHERE template IS NOT NULL;
CREATE INDEX batch_message ON batch(message, open) WHERE open = 1;
CREATE VIEW job_counts(job, pns, class, count) AS
    SELECT job, pns, class, count FROM delivery_count
    UNION ALL SELECT sequence, inline_pns, 0, inline_size FROM job
        WHERE inline_pns IS NOT NULL AND finished IS NOT NULL
    UNION ALL SELECT sequence, inline_pns, 1, inline_size FROM job
        WHERE inline_pns IS NOT NULL AND finished IS NOT NULL;
CREATE INDEX delivery_job ON delivery(job);
CREATE INDEX dead_job ON dead(job) WHERE job IS NOT NULL;
CREATE INDEX dead_work ON dead(at) WHERE work IS NOT NULL;
CREATE INDEX suspect_at ON suspect(at);
CREATE INDEX content_created ON content(created);
CREATE INDEX content_owner ON content(app, owner) WHERE owner IS NOT NULL;
CREATE INDEX rich_created ON rich(created);
CREATE INDEX rich_content ON rich(app, content, addressee) WHERE content IS NOT NULL;
CREATE INDEX rich_app ON rich(app);
CREATE INDEX rich_sender ON rich(app, sender);
CREATE INDEX rich_addressee ON rich(app, addressee);
CREATE INDEX rich_read ON rich(app, sender) WHERE read IS NOT NULL;
CREATE INDEX removed_user_version ON removed_user(version);
CREATE INDEX removed_user_at ON removed_user(at);
INSERT INTO schema VALUES (1, 1, 1);
INSERT INTO clock VALUES (1, 'first', 1799995000000, 1800086570000);
INSERT INTO cursor_key VALUES (1, X'B63F88CDEB817FB19059D9B5BE789265E2BFE8406F3CA36CD4DF09DF035F4FF0');
INSERT INTO app VALUES (1, 'default', '{"api":{"origins":[]},"apns":{"credentials":{"watch":{"devices_per_second":100,"endpoint":"https://api.push.apple.com","key_file":"/k","key_id":"K","team_id":"T","topic":"com.example.app"}},"devices_per_second":100,"endpoint":"https://api.push.apple.com","key_file":"/k","key_id":"K","team_id":"T","topic":"com.example.app"},"authentication":"accounts","contents":{"account_bytes":104857600,"app_bytes":10737418240},"hub":"embedded","recording":"failures","registrations_per_user":100,"reserved_tags":[],"rich":{"message":"Check this image out!","per_account":1000,"per_app":1000000,"rich_type":"img","secure":false},"tags_per_registration":200,"users":"folded"}');
INSERT INTO account VALUES (1, 1, 'ann', NULL, 'user', 'hash', 0, 1800086570000);
INSERT INTO api_key VALUES (1, 'backend', 'sender', X'02', 1800086575000, NULL);
INSERT INTO api_key VALUES (1, 'k', 'user', X'01', 1800086570000, 1800086570000);
INSERT INTO hub_rule VALUES (1, 'Full', 'listen,manage,send', 'a', 'b', 1800086575000);
INSERT INTO pause VALUES ('send', 1, 'root', 1800086575000);
INSERT INTO rate_limit VALUES (1, 1, 0, 100, 1800086575040000000);
INSERT INTO rate_limit VALUES (1, 1, 1, 100, 1800086575000000000);
INSERT INTO session VALUES (1, X'07', 1, 'ann', NULL, 0, 1800087575000, 1800086675000, 1800087575000);
INSERT INTO template VALUES (1, 1, X'DDCD094C63E090450556EA15671952527AFA957D56BE707A440DEE83BE6AA795', '{"body":"{\"aps\":{\"alert\":\"$(m)\"}}","headers":[]}');
INSERT INTO credential VALUES (1, 1, 1, 'watch');
INSERT INTO registration VALUES (1, 1, '1k8b9gkthe39249u55c4io8ua78qe6op', 1, NULL, NULL, 'ann', NULL, 5, 16, 1800086560000, NULL, 1800086560000, 'deleted by the app', NULL, NULL, NULL, NULL);
INSERT INTO registration VALUES (2, 1, '1k8b9gku202ng1dmg1v3qqlnphnekjuo', 1, NULL, 'bb', 'bob', NULL, 2, 4, 1800000000000, NULL, 1800000060000, '', NULL, NULL, NULL, NULL);
INSERT INTO registration VALUES (3, 1, '1k8b9gl1iluc61sihuhacmnabori6dfb', 1, NULL, 'n0', 'ann', NULL, 4, 9, 1800086560000, NULL, 1800086560000, 'its user has more than the 1 live registrations allowed, and this was the oldest', NULL, NULL, NULL, NULL);
INSERT INTO registration VALUES (4, 1, '1k8b9gl2a97ro5daf36ovpfhn4ja15gs', 1, NULL, 'n1', 'ann', NULL, 4, 11, 1800086560000, NULL, 1800086560000, 'its user has more than the 1 live registrations allowed, and this was the oldest', NULL, NULL, NULL, NULL);
INSERT INTO registration VALUES (5, 1, '1k8b9gl36ctp0cqjj17bafs0gdjs9nb4', 1, NULL, 'n2', 'ann', NULL, 4, 13, 1800086560000, NULL, 1800086560000, 'its user has more than the 1 live registrations allowed, and this was the oldest', NULL, NULL, NULL, NULL);
INSERT INTO registration VALUES (6, 1, '1k8b9gl3qonvgnq4647ldpvmal05aloa', 1, NULL, 'n3', 'ann', NULL, 1, 15, 1800086560000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO registration VALUES (7, 1, '1k8b9gl8s841oc1mmmvidgn9srvo7tc8', 1, NULL, 'cc', 'cid', NULL, 1, 20, 1800086570000, NULL, NULL, NULL, '[1]', NULL, NULL, NULL);
INSERT INTO registration VALUES (8, 1, '1k8b9gl8slek46dbi9j0ed5vo8e6qt30', 1, NULL, 'dd', 'cid', NULL, 1, 20, 1800086570000, NULL, NULL, NULL, '[1]', NULL, NULL, NULL);
INSERT INTO registration VALUES (9, 1, '1k8b9glcee6t07hp4gssdtli15tlvcpp', 65, 1, 'ee', 'ann', NULL, 1, 25, 1800086575000, NULL, NULL, NULL, '[1]', 1, '=news', NULL);
INSERT INTO registration VALUES (10, 1, '1k8b9gld2ntfroq7jot72vuo3nsfhnsg', 1, NULL, 'f2', 'fay', NULL, 1, 29, 1800086575000, NULL, NULL, NULL, '[1]', NULL, NULL, NULL);
INSERT INTO registration VALUES (11, 1, '1k8b9gldq3reh6ji1uigo7eoa37o0p51', 1, NULL, 'f1', 'gil', NULL, 1, 31, 1800086575000, NULL, NULL, NULL, '[1]', NULL, NULL, NULL);
INSERT INTO tag_name VALUES (1, 1, 't', NULL);
INSERT INTO tagged VALUES (1, 1, 7);
INSERT INTO tagged VALUES (1, 1, 8);
INSERT INTO tagged VALUES (1, 1, 10);
INSERT INTO tagged VALUES (1, 1, 11);
INSERT INTO tagged VALUES (1, 65, 9);
INSERT INTO handle_key VALUES (1, X'DCD8E51B2D029E0287D94E7734BF3999');
INSERT INTO handle_index VALUES (-3937970627431934393, 0, 8);
INSERT INTO handle_index VALUES (-3819079285362666586, 0, 11);
INSERT INTO handle_index VALUES (17994591248400393, 0, 7);
INSERT INTO handle_index VALUES (3565528553464157670, 0, 6);
INSERT INTO handle_index VALUES (3739229933745020011, 0, 9);
INSERT INTO handle_index VALUES (4224132022009734793, 0, 10);
INSERT INTO released_handle VALUES (1, 1, X'0480A93D2E9B094B89E08E01976089AC', 13, 1800086560000);
INSERT INTO released_handle VALUES (1, 1, X'3B64DB95CB55C763391C707108489AE1', 4, 1800000060000);
INSERT INTO released_handle VALUES (1, 1, X'3F524CDC07A11D7C6220BDB049FE8DD4', 28, 1800086575000);
INSERT INTO released_handle VALUES (1, 1, X'676B8BB84CE7267DD520DECA4811C8F1', 11, 1800086560000);
INSERT INTO released_handle VALUES (1, 1, X'820D5D8BAF762EC66DCD56FED15C78BF', 9, 1800086560000);
INSERT INTO released_handle VALUES (1, 1, X'961B6DD3EDE3CB8ECBAACBD68DE040CD', 7, 1800086560000);
INSERT INTO dead_handle VALUES (2, 2, 'bb', 0, 1800086575000, 'r');
INSERT INTO tombstone VALUES (1, '1k8b9gl3qbjv9dle2eeuahb9ee3jqh9f', 'ann', 14, 1800086560000);
INSERT INTO tombstone VALUES (1, '1k8b9glcesq874hm8bdmaa9cvfn6quvv', 'ann', 26, 1800086575000);
INSERT INTO message VALUES (7, 1, 11, 1, 1, 1800086600000, 0, 2, 0, 0, 1, 1, 0, 0, NULL, NULL);
INSERT INTO message VALUES (9, 1, 11, 1, 1, 1800086600000, 0, 1, 0, 0, 1, 2, 6, 6, NULL, NULL);
INSERT INTO message VALUES (20, 1, 2, 1, 1, 1800086600000, 0, 1, 0, 0, 1, 0, 17, 17, NULL, NULL);
INSERT INTO message VALUES (22, 1, 11, 1, 1, 1800089270000, 0, 0, 0, 0, 1, 100, 18, 18, NULL, NULL);
INSERT INTO message VALUES (23, 1, 11, 1, 1, 1800089270000, 0, 0, 0, 0, 1, 50, 18, 18, NULL, NULL);
INSERT INTO message VALUES (28, 1, 2, 1, 2, 1800086570000, 0, 0, 0, 0, 1, 0, 22, 22, NULL, NULL);
INSERT INTO message VALUES (32, 1, 2, 1, 2, 1800086575000, 0, 0, 0, 0, 1, 0, 24, 24, NULL, NULL);
INSERT INTO message VALUES (40, 1, 2, 1, 0, 1800086575000, 0, 0, 0, 0, 1, 0, 32, 32, NULL, NULL);
INSERT INTO message VALUES (43, 1, 2, 1, 0, 1800086575000, 0, 0, 0, 0, 1, 0, 34, 34, NULL, NULL);
INSERT INTO message VALUES (44, 1, 2, 1, 0, 1800086575000, 0, 0, 0, 0, 1, 0, 35, 35, NULL, NULL);
INSERT INTO message VALUES (45, 1, 2, 1, 0, 1800086575000, 0, 0, 0, 0, 1, 0, 36, 36, NULL, NULL);
INSERT INTO message VALUES (46, 1, 1, 1, 0, 1800086575000, 0, 0, 0, 0, 1, 0, 37, 37, NULL, NULL);
INSERT INTO job VALUES (1, X'01A2169853B176DEB1F341ECE7BC7F5C', 1, NULL, NULL, NULL, 1, 1, 0, 10, NULL, '{"register":{"_0":{"delete":{"_0":"1k8b9gkths164hva9tkgplkki8acerm0"}}}}', NULL, 1, NULL, 1800086400000, 1800086400000, NULL, '{"done":{}}', NULL, 1800000000000, NULL, 1800000000000, 1800000000000, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (2, X'01A2169853BF7E319680AA743754C0A6', 1, NULL, NULL, NULL, 1, 1, 0, 10, NULL, '{"register":{"_0":{"delete":{"_0":"1k8b9gktvt8ac5b7qttvd4qlpnte3b4i"}}}}', NULL, 1, NULL, 1800086400000, 1800086400000, NULL, '{"done":{}}', NULL, 1800000000000, NULL, 1800000000000, 1800000000000, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (3, X'01A2169853C271B48295765AC10DE73A', 1, NULL, NULL, NULL, 1, 1, 0, 10, NULL, '{"register":{"_0":{"delete":{"_0":"1k8b9gku2acn7omone3rq80n15i3gfrg"}}}}', NULL, 1, NULL, 1800086400000, 1800086400000, NULL, '{"done":{}}', NULL, 1800000000000, NULL, 1800000000000, 1800000000000, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (4, X'01A2169853C67E1D83800FF440EF7EC5', 1, NULL, NULL, NULL, 1, 1, 0, 10, NULL, '{"register":{"_0":{"delete":{"_0":"1k8b9gku6krpvir2fu904jrn8o8q3ldp"}}}}', NULL, 1, NULL, 1800086400000, 1800086400000, NULL, '{"done":{}}', NULL, 1800000000000, NULL, 1800000000000, 1800000000000, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (5, X'01A2169853CE7B479BB22DA4F9A37393', 1, 'ann', NULL, NULL, 2, 1, 0, 4, 'Enqueued', '{"send":{"_0":{"audience":"t || nobody-has-this","content":{"message":{"_0":{"body":"b","data":{},"title":"t"}}},"platforms":[]}}}', NULL, 1, 1800086560000, 1800086400000, 1800086400000, NULL, NULL, NULL, 1800000000000, NULL, 1800000060000, NULL, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (6, X'01A2169853EE7C359B550312F1146AE6', 1, NULL, NULL, NULL, 2, 1, 0, 4, 'Enqueued', '{"send":{"_0":{"audience":"username:u0 || username:u1 || username:u2 || username:u3 || username:u4 || username:u5 || username:u6 || username:u7 || username:u8 || username:u9 || username:u10 || username:u11 || username:u12 || username:u13 || username:u14 || username:u15 || username:u16 || username:u17 || username:u18 || username:u19 || username:u20 || username:u21 || username:u22 || username:u23 || username:u24 || username:u25 || username:u26 || username:u27 || username:u28 || username:u29 || username:u30 || username:u31 || username:u32 || username:u33 || username:u34 || username:u35 || username:u36 || username:u37 || username:u38 || username:u39 || username:u40 || username:u41 || username:u42 || username:u43 || username:u44 || username:u45 || username:u46 || username:u47 || username:u48 || username:u49 || username:u50 || username:u51 || username:u52 || username:u53 || username:u54 || username:u55 || username:u56 || username:u57 || username:u58 || username:u59 || username:u60 || username:u61 || username:u62 || username:u63 || username:u64 || username:u65 || username:u66 || username:u67 || username:u68 || username:u69 || username:u70 || username:u71 || username:u72 || username:u73 || username:u74 || username:u75 || username:u76 || username:u77 || username:u78 || username:u79 || username:u80 || username:u81 || username:u82 || username:u83 || username:u84 || username:u85 || username:u86 || username:u87 || username:u88 || username:u89 || username:u90 || username:u91 || username:u92 || username:u93 || username:u94 || username:u95 || username:u96 || username:u97 || username:u98 || username:u99","content":{"message":{"_0":{"body":"b","data":{},"title":"t"}}},"platforms":[],"truncatedTags":51}}}', NULL, 1, 1800086560000, 1800086460000, 1800086460000, NULL, NULL, NULL, 1800000060000, NULL, 1800000060000, NULL, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (7, X'01A21698542778BAABACF8498477F631', 1, NULL, NULL, NULL, 1, 1, 0, 10, NULL, '{"register":{"_0":{"delete":{"_0":"1k8b9gl17ppb7dsb03i0qku49rvsdenl"}}}}', NULL, 1, NULL, 1800172960000, 1800172960000, NULL, '{"done":{}}', NULL, 1800086560000, NULL, 1800086560000, 1800086560000, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (8, X'01A21698543274A29BE13D09750020BE', 1, NULL, NULL, NULL, 1, 1, 0, 10, NULL, '{"register":{"_0":{"delete":{"_0":"1k8b9gl1ivmp7cbccbd313jg29o1d5g4"}}}}', NULL, 1, NULL, 1800172960000, 1800172960000, NULL, '{"done":{}}', NULL, 1800086560000, NULL, 1800086560000, 1800086560000, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (9, X'01A21698543E71D4A00C3A501CA46EE8', 1, NULL, NULL, NULL, 1, 1, 0, 10, NULL, '{"register":{"_0":{"delete":{"_0":"1k8b9gl1ufvm60q6k3etdbegai9ve6dr"}}}}', NULL, 1, NULL, 1800172960000, 1800172960000, NULL, '{"done":{}}', NULL, 1800086560000, NULL, 1800086560000, 1800086560000, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (10, X'01A21698544A79B79ABF2C42D915BE21', 1, NULL, NULL, NULL, 1, 1, 0, 10, NULL, '{"register":{"_0":{"delete":{"_0":"1k8b9gl2afiig4b2bgk2l4un5fejdk4h"}}}}', NULL, 1, NULL, 1800172960000, 1800172960000, NULL, '{"done":{}}', NULL, 1800086560000, NULL, 1800086560000, 1800086560000, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (11, X'01A2169854597AEFA8100FEBE3D493EC', 1, NULL, NULL, NULL, 1, 1, 0, 10, NULL, '{"register":{"_0":{"delete":{"_0":"1k8b9gl2p0ip8o84d72jt2bcpetjvbje"}}}}', NULL, 1, NULL, 1800172960000, 1800172960000, NULL, '{"done":{}}', NULL, 1800086560000, NULL, 1800086560000, 1800086560000, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (12, X'01A21698546675D89B9D84D8C6188044', 1, NULL, NULL, NULL, 1, 1, 0, 10, NULL, '{"register":{"_0":{"delete":{"_0":"1k8b9gl36cbm5k7u6cdepp03ivc7li01"}}}}', NULL, 1, NULL, 1800172960000, 1800172960000, NULL, '{"done":{}}', NULL, 1800086560000, NULL, 1800086560000, 1800086560000, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (13, X'01A21698546F7B7F9BEE1C771AC989AC', 1, NULL, NULL, NULL, 1, 1, 0, 10, NULL, '{"register":{"_0":{"delete":{"_0":"1k8b9gl3fdu3pgqoat8ta36efai3jp1k"}}}}', NULL, 1, NULL, 1800172960000, 1800172960000, NULL, '{"done":{}}', NULL, 1800086560000, NULL, 1800086560000, 1800086560000, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (14, X'01A21698547A7101847E654729BB3893', 1, NULL, NULL, NULL, 1, 1, 0, 10, NULL, '{"register":{"_0":{"delete":{"_0":"1k8b9gl3qo8b1pqnf63ghqcr1vk1pj7v"}}}}', NULL, 1, NULL, 1800172960000, 1800172960000, NULL, '{"done":{}}', NULL, 1800086560000, NULL, 1800086560000, 1800086560000, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (15, X'01A2169854827C1D82A865AFDC7D094A', 1, NULL, NULL, NULL, 1, 1, 0, 10, NULL, '{"register":{"_0":{"delete":{"_0":"1k8b9gl42tj5gmgd4st0ttoninp6qkll"}}}}', NULL, 1, NULL, 1800172960000, 1800172960000, NULL, '{"done":{}}', NULL, 1800086560000, NULL, 1800086560000, 1800086560000, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (16, X'01A21698548A7D249735212A1FED7C0D', 1, NULL, NULL, NULL, 1, 1, 0, 10, NULL, '{"register":{"_0":{"delete":{"_0":"1k8b9gl4aigp641gh5nm84fj5u9dl25d"}}}}', NULL, 1, NULL, 1800172960000, 1800172960000, NULL, '{"done":{}}', NULL, 1800086560000, NULL, 1800086560000, 1800086560000, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (17, X'01A2169854D57B0B8B5B24FB35F674FE', 1, NULL, NULL, NULL, 2, 1, 0, 1, NULL, '{"send":{"_0":{"audience":{"count":0,"given":1,"kind":"registrations"},"content":{"message":{"_0":{"body":"b","data":{}}}},"platforms":[]}}}', 20, 0, NULL, 1800172970000, 1800172970000, NULL, NULL, NULL, 1800086570000, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (18, X'01A2169854DB75D89F04625CE9851CB4', 1, NULL, NULL, NULL, 2, 1, 0, 2, 'Enqueued', '{"send":{"_0":{"audience":{"count":150,"given":150,"kind":"handles"},"content":{"message":{"_0":{"body":"b","data":{}}}},"platforms":[]}}}', NULL, 1, NULL, 1800172970000, 1800172970000, NULL, NULL, NULL, 1800086570000, NULL, 1800086570000, NULL, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (19, X'01A21698550271E29F8DB6C19922D3EE', 1, NULL, NULL, NULL, 2, 1, 0, 10, 'Completed', '{"send":{"_0":{"audience":{"count":1,"given":1,"kind":"handles"},"content":{"message":{"_0":{"body":"b","data":{}}}},"platforms":[]}}}', NULL, 1, NULL, 1800172970000, 1800172970000, NULL, NULL, NULL, 1800086570000, NULL, 1800086570000, 1800086570000, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (21, X'01A2169855227757A8778C7327814E39', 1, NULL, NULL, NULL, 2, 1, 0, 10, 'Completed', '{"send":{"_0":{"audience":"username:cid","content":{"message":{"_0":{"body":"b","data":{},"title":"t"}}},"platforms":[]}}}', NULL, 1, NULL, 1800090170000, 1800090170000, NULL, NULL, NULL, 1800086570000, NULL, 1800086570000, 1800086570000, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (22, X'01A2169855267FB3A599C334C2AB2666', 1, NULL, NULL, NULL, 2, 1, 0, 1, NULL, '{"send":{"_0":{"audience":"username:cid","content":{"message":{"_0":{"body":"b","data":{},"title":"t"}}},"platforms":[]}}}', 28, 0, NULL, 1800090170000, 1800090170000, NULL, NULL, NULL, 1800086570000, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (23, X'01A21698555A7789AAB9BA972D96B5DD', 1, NULL, NULL, NULL, 2, 1, 0, 11, 'Abandoned', '{"send":{"_0":{"audience":"t || nobody-has-this","content":{"message":{"_0":{"body":"b","data":{},"title":"t"}}},"platforms":[]}}}', NULL, 1, NULL, 1800172970000, 1800172970000, NULL, NULL, '', 1800086570000, NULL, NULL, 1800086570000, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (24, X'01A216985568790FB3899CEA62A566B2', 1, NULL, NULL, NULL, 2, 1, 0, 1, NULL, '{"send":{"_0":{"audience":"t || nobody-has-this","content":{"message":{"_0":{"body":"b","data":{},"title":"t"}}},"platforms":[]}}}', 32, 0, NULL, 1800086635000, 1800086635000, NULL, NULL, NULL, 1800086570000, 1800086575000, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (25, X'01A21698558E75F69EBFB82836D03925', 1, NULL, NULL, NULL, 1, 1, 0, 10, NULL, '{"register":{"_0":{"delete":{"_0":"1k8b9glceaq365quk2rf29v6eme8bjdc"}}}}', NULL, 1, NULL, 1800172975000, 1800172975000, NULL, '{"done":{}}', NULL, 1800086575000, NULL, 1800086575000, 1800086575000, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (26, X'01A21698559A7C069949DD6549CDC758', 1, NULL, NULL, NULL, 1, 1, 0, 10, NULL, '{"register":{"_0":{"delete":{"_0":"1k8b9glcq6bdtl7bnhm5j22dmfd56fq9"}}}}', NULL, 1, NULL, 1800172975000, 1800172975000, NULL, '{"done":{}}', NULL, 1800086575000, NULL, 1800086575000, 1800086575000, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (27, X'01A2169855A27FB0904819D64FC58E83', 1, NULL, NULL, NULL, 1, 1, 0, 10, NULL, '{"register":{"_0":{"delete":{"_0":"1k8b9gld2qi9r38rkcve39iea1qcl63u"}}}}', NULL, 1, NULL, 1800172975000, 1800172975000, NULL, '{"done":{}}', NULL, 1800086575000, NULL, 1800086575000, 1800086575000, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (28, X'01A2169855AB7FDDAD05765918736864', 1, NULL, NULL, NULL, 1, 1, 0, 10, NULL, '{"register":{"_0":{"delete":{"_0":"1k8b9gldbgbivjmjs8q56u6e7nh3djul"}}}}', NULL, 1, NULL, 1800172975000, 1800172975000, NULL, '{"done":{}}', NULL, 1800086575000, NULL, 1800086575000, 1800086575000, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (29, X'01A2169855B271C2A0CCD5EB47CD3FBA', 1, NULL, NULL, NULL, 1, 1, 0, 10, NULL, '{"register":{"_0":{"delete":{"_0":"1k8b9glditpa9ofj5e4p8itvdk41eqs0"}}}}', NULL, 1, NULL, 1800172975000, 1800172975000, NULL, '{"done":{}}', NULL, 1800086575000, NULL, 1800086575000, 1800086575000, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (30, X'01A2169855BA70E3BAAD4672DC169C79', 1, NULL, NULL, NULL, 1, 1, 0, 10, NULL, '{"register":{"_0":{"delete":{"_0":"1k8b9gldqdn9jekp8j4tmtfu21v1sgbe"}}}}', NULL, 1, NULL, 1800172975000, 1800172975000, NULL, '{"done":{}}', NULL, 1800086575000, NULL, 1800086575000, 1800086575000, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (31, X'01A2169855C37266B0AF1E30870CF4AA', 1, NULL, NULL, NULL, 1, 1, 0, 10, NULL, '{"register":{"_0":{"delete":{"_0":"1k8b9gle33d9194okaqbnpurup2i8v75"}}}}', NULL, 1, NULL, 1800172975000, 1800172975000, NULL, '{"done":{}}', NULL, 1800086575000, NULL, 1800086575000, 1800086575000, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (32, X'01A2169855CE7B4385512AAC7CE07EB1', 1, NULL, NULL, NULL, 2, 1, 0, 1, NULL, '{"send":{"_0":{"audience":"username:ann","content":{"message":{"_0":{"body":"b","data":{},"title":"t"}}},"platforms":[]}}}', 40, 0, NULL, 1800090175000, 1800090175000, NULL, NULL, NULL, 1800086575000, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (33, X'01A2169855D2774DBC5B099AF31BC84D', 1, 'ann', NULL, NULL, 2, 1, 0, 10, 'Completed', '{"send":{"_0":{"audience":"t || nobody-has-this","content":{"message":{"_0":{"body":"b","data":{},"title":"t"}}},"platforms":[]}}}', NULL, 1, NULL, 1800172975000, 1800172975000, NULL, NULL, NULL, 1800086575000, NULL, 1800086575000, 1800086575000, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (34, X'01A2169855E3737E9D3B2ABEC1BD17DD', 1, NULL, NULL, NULL, 2, 1, 0, 1, NULL, '{"send":{"_0":{"audience":"username:u0 || username:u1 || username:u2 || username:u3 || username:u4 || username:u5 || username:u6 || username:u7 || username:u8 || username:u9 || username:u10 || username:u11 || username:u12 || username:u13 || username:u14 || username:u15 || username:u16 || username:u17 || username:u18 || username:u19 || username:u20 || username:u21 || username:u22 || username:u23 || username:u24 || username:u25 || username:u26 || username:u27 || username:u28 || username:u29 || username:u30 || username:u31 || username:u32 || username:u33 || username:u34 || username:u35 || username:u36 || username:u37 || username:u38 || username:u39 || username:u40 || username:u41 || username:u42 || username:u43 || username:u44 || username:u45 || username:u46 || username:u47 || username:u48 || username:u49 || username:u50 || username:u51 || username:u52 || username:u53 || username:u54 || username:u55 || username:u56 || username:u57 || username:u58 || username:u59 || username:u60 || username:u61 || username:u62 || username:u63 || username:u64 || username:u65 || username:u66 || username:u67 || username:u68 || username:u69 || username:u70 || username:u71 || username:u72 || username:u73 || username:u74 || username:u75 || username:u76 || username:u77 || username:u78 || username:u79 || username:u80 || username:u81 || username:u82 || username:u83 || username:u84 || username:u85 || username:u86 || username:u87 || username:u88 || username:u89 || username:u90 || username:u91 || username:u92 || username:u93 || username:u94 || username:u95 || username:u96 || username:u97 || username:u98 || username:u99","content":{"message":{"_0":{"body":"b","data":{},"title":"t"}}},"platforms":[],"truncatedTags":50}}}', 43, 0, NULL, 1800172975000, 1800172975000, NULL, NULL, NULL, 1800086575000, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (35, X'01A2169855E677629BDFA7066AD5481F', 1, NULL, NULL, NULL, 2, 1, 0, 1, NULL, '{"send":{"_0":{"audience":{"count":2,"given":2,"kind":"handles"},"content":{"message":{"_0":{"body":"b","data":{}}}},"platforms":[]}}}', 44, 0, NULL, 1800172975000, 1800172975000, NULL, NULL, NULL, 1800086575000, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (36, X'01A2169855EA702D8A5F0421951746EA', 1, NULL, NULL, NULL, 2, 1, 0, 1, NULL, '{"send":{"_0":{"audience":{"count":1,"expression":"news","kind":"hub"},"content":{"message":{"_0":{"body":"b","data":{}}}},"platforms":[]}}}', 45, 0, NULL, 1800090175000, 1800090175000, NULL, NULL, NULL, 1800086575000, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO job VALUES (37, X'01A2169855F276D287FF7CF590F312EC', 1, NULL, NULL, 'k', 1, 1, 0, 1, NULL, '{"register":{"_0":{"removeUser":{"_0":{"key":"dan"},"withAccount":true}}}}', 46, 0, NULL, 1800086635000, 1800086635000, NULL, NULL, NULL, 1800086575000, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO backlog VALUES (1, 11, 0);
INSERT INTO audience VALUES (6, 'username:u0
username:u1
username:u2
username:u3
username:u4
username:u5
username:u6
username:u7
username:u8
username:u9
username:u10
username:u11
username:u12
username:u13
username:u14
username:u15
username:u16
username:u17
username:u18
username:u19
username:u20
username:u21
username:u22
username:u23
username:u24
username:u25
username:u26
username:u27
username:u28
username:u29
username:u30
username:u31
username:u32
username:u33
username:u34
username:u35
username:u36
username:u37
username:u38
username:u39
username:u40
username:u41
username:u42
username:u43
username:u44
username:u45
username:u46
username:u47
username:u48
username:u49
username:u50
username:u51
username:u52
username:u53
username:u54
username:u55
username:u56
username:u57
username:u58
username:u59
username:u60
username:u61
username:u62
username:u63
username:u64
username:u65
username:u66
username:u67
username:u68
username:u69
username:u70
username:u71
username:u72
username:u73
username:u74
username:u75
username:u76
username:u77
username:u78
username:u79
username:u80
username:u81
username:u82
username:u83
username:u84
username:u85
username:u86
username:u87
username:u88
username:u89
username:u90
username:u91
username:u92
username:u93
username:u94
username:u95
username:u96
username:u97
username:u98
username:u99
username:u100
username:u101
username:u102
username:u103
username:u104
username:u105
username:u106
username:u107
username:u108
username:u109
username:u110
username:u111
username:u112
username:u113
username:u114
username:u115
username:u116
username:u117
username:u118
username:u119
username:u120
username:u121
username:u122
username:u123
username:u124
username:u125
username:u126
username:u127
username:u128
username:u129
username:u130
username:u131
username:u132
username:u133
username:u134
username:u135
username:u136
username:u137
username:u138
username:u139
username:u140
username:u141
username:u142
username:u143
username:u144
username:u145
username:u146
username:u147
username:u148
username:u149
t');
INSERT INTO audience VALUES (34, 'username:u0
username:u1
username:u2
username:u3
username:u4
username:u5
username:u6
username:u7
username:u8
username:u9
username:u10
username:u11
username:u12
username:u13
username:u14
username:u15
username:u16
username:u17
username:u18
username:u19
username:u20
username:u21
username:u22
username:u23
username:u24
username:u25
username:u26
username:u27
username:u28
username:u29
username:u30
username:u31
username:u32
username:u33
username:u34
username:u35
username:u36
username:u37
username:u38
username:u39
username:u40
username:u41
username:u42
username:u43
username:u44
username:u45
username:u46
username:u47
username:u48
username:u49
username:u50
username:u51
username:u52
username:u53
username:u54
username:u55
username:u56
username:u57
username:u58
username:u59
username:u60
username:u61
username:u62
username:u63
username:u64
username:u65
username:u66
username:u67
username:u68
username:u69
username:u70
username:u71
username:u72
username:u73
username:u74
username:u75
username:u76
username:u77
username:u78
username:u79
username:u80
username:u81
username:u82
username:u83
username:u84
username:u85
username:u86
username:u87
username:u88
username:u89
username:u90
username:u91
username:u92
username:u93
username:u94
username:u95
username:u96
username:u97
username:u98
username:u99
username:u100
username:u101
username:u102
username:u103
username:u104
username:u105
username:u106
username:u107
username:u108
username:u109
username:u110
username:u111
username:u112
username:u113
username:u114
username:u115
username:u116
username:u117
username:u118
username:u119
username:u120
username:u121
username:u122
username:u123
username:u124
username:u125
username:u126
username:u127
username:u128
username:u129
username:u130
username:u131
username:u132
username:u133
username:u134
username:u135
username:u136
username:u137
username:u138
username:u139
username:u140
username:u141
username:u142
username:u143
username:u144
username:u145
username:u146
username:u147
username:u148
username:u149');
INSERT INTO idempotency VALUES (1, 'c', 'r', 'a', X'01', 21, 1800086570000);
INSERT INTO idempotency VALUES (1, 'c', 'r', 'b', X'01', 22, 1800086570000);
INSERT INTO recipient VALUES (18, 1, 281474976710657, 'direct-1', NULL, 'ref-1');
INSERT INTO recipient VALUES (18, 1, 281474976710658, 'direct-2', NULL, 'ref-2');
INSERT INTO recipient VALUES (18, 1, 281474976710659, 'direct-3', NULL, 'ref-3');
INSERT INTO recipient VALUES (18, 1, 281474976710660, 'direct-4', NULL, 'ref-4');
INSERT INTO recipient VALUES (18, 1, 281474976710661, 'direct-5', NULL, 'ref-5');
INSERT INTO recipient VALUES (18, 1, 281474976710662, 'direct-6', NULL, 'ref-6');
INSERT INTO recipient VALUES (18, 1, 281474976710663, 'direct-7', NULL, 'ref-7');
INSERT INTO recipient VALUES (18, 1, 281474976710664, 'direct-8', NULL, 'ref-8');
INSERT INTO recipient VALUES (18, 1, 281474976710665, 'direct-9', NULL, 'ref-9');
INSERT INTO recipient VALUES (18, 1, 281474976710666, 'direct-10', NULL, 'ref-10');
INSERT INTO recipient VALUES (18, 1, 281474976710667, 'direct-11', NULL, 'ref-11');
INSERT INTO recipient VALUES (18, 1, 281474976710668, 'direct-12', NULL, 'ref-12');
INSERT INTO recipient VALUES (18, 1, 281474976710669, 'direct-13', NULL, 'ref-13');
INSERT INTO recipient VALUES (18, 1, 281474976710670, 'direct-14', NULL, 'ref-14');
INSERT INTO recipient VALUES (18, 1, 281474976710671, 'direct-15', NULL, 'ref-15');
INSERT INTO recipient VALUES (18, 1, 281474976710672, 'direct-16', NULL, 'ref-16');
INSERT INTO recipient VALUES (18, 1, 281474976710673, 'direct-17', NULL, 'ref-17');
INSERT INTO recipient VALUES (18, 1, 281474976710674, 'direct-18', NULL, 'ref-18');
INSERT INTO recipient VALUES (18, 1, 281474976710675, 'direct-19', NULL, 'ref-19');
INSERT INTO recipient VALUES (18, 1, 281474976710676, 'direct-20', NULL, 'ref-20');
INSERT INTO recipient VALUES (18, 1, 281474976710677, 'direct-21', NULL, 'ref-21');
INSERT INTO recipient VALUES (18, 1, 281474976710678, 'direct-22', NULL, 'ref-22');
INSERT INTO recipient VALUES (18, 1, 281474976710679, 'direct-23', NULL, 'ref-23');
INSERT INTO recipient VALUES (18, 1, 281474976710680, 'direct-24', NULL, 'ref-24');
INSERT INTO recipient VALUES (18, 1, 281474976710681, 'direct-25', NULL, 'ref-25');
INSERT INTO recipient VALUES (18, 1, 281474976710682, 'direct-26', NULL, 'ref-26');
INSERT INTO recipient VALUES (18, 1, 281474976710683, 'direct-27', NULL, 'ref-27');
INSERT INTO recipient VALUES (18, 1, 281474976710684, 'direct-28', NULL, 'ref-28');
INSERT INTO recipient VALUES (18, 1, 281474976710685, 'direct-29', NULL, 'ref-29');
INSERT INTO recipient VALUES (18, 1, 281474976710686, 'direct-30', NULL, 'ref-30');
INSERT INTO recipient VALUES (18, 1, 281474976710687, 'direct-31', NULL, 'ref-31');
INSERT INTO recipient VALUES (18, 1, 281474976710688, 'direct-32', NULL, 'ref-32');
INSERT INTO recipient VALUES (18, 1, 281474976710689, 'direct-33', NULL, 'ref-33');
INSERT INTO recipient VALUES (18, 1, 281474976710690, 'direct-34', NULL, 'ref-34');
INSERT INTO recipient VALUES (18, 1, 281474976710691, 'direct-35', NULL, 'ref-35');
INSERT INTO recipient VALUES (18, 1, 281474976710692, 'direct-36', NULL, 'ref-36');
INSERT INTO recipient VALUES (18, 1, 281474976710693, 'direct-37', NULL, 'ref-37');
INSERT INTO recipient VALUES (18, 1, 281474976710694, 'direct-38', NULL, 'ref-38');
INSERT INTO recipient VALUES (18, 1, 281474976710695, 'direct-39', NULL, 'ref-39');
INSERT INTO recipient VALUES (18, 1, 281474976710696, 'direct-40', NULL, 'ref-40');
INSERT INTO recipient VALUES (18, 1, 281474976710697, 'direct-41', NULL, 'ref-41');
INSERT INTO recipient VALUES (18, 1, 281474976710698, 'direct-42', NULL, 'ref-42');
INSERT INTO recipient VALUES (18, 1, 281474976710699, 'direct-43', NULL, 'ref-43');
INSERT INTO recipient VALUES (18, 1, 281474976710700, 'direct-44', NULL, 'ref-44');
INSERT INTO recipient VALUES (18, 1, 281474976710701, 'direct-45', NULL, 'ref-45');
INSERT INTO recipient VALUES (18, 1, 281474976710702, 'direct-46', NULL, 'ref-46');
INSERT INTO recipient VALUES (18, 1, 281474976710703, 'direct-47', NULL, 'ref-47');
INSERT INTO recipient VALUES (18, 1, 281474976710704, 'direct-48', NULL, 'ref-48');
INSERT INTO recipient VALUES (18, 1, 281474976710705, 'direct-49', NULL, 'ref-49');
INSERT INTO recipient VALUES (18, 1, 281474976710706, 'direct-50', NULL, 'ref-50');
INSERT INTO recipient VALUES (18, 1, 281474976710707, 'direct-51', NULL, 'ref-51');
INSERT INTO recipient VALUES (18, 1, 281474976710708, 'direct-52', NULL, 'ref-52');
INSERT INTO recipient VALUES (18, 1, 281474976710709, 'direct-53', NULL, 'ref-53');
INSERT INTO recipient VALUES (18, 1, 281474976710710, 'direct-54', NULL, 'ref-54');
INSERT INTO recipient VALUES (18, 1, 281474976710711, 'direct-55', NULL, 'ref-55');
INSERT INTO recipient VALUES (18, 1, 281474976710712, 'direct-56', NULL, 'ref-56');
INSERT INTO recipient VALUES (18, 1, 281474976710713, 'direct-57', NULL, 'ref-57');
INSERT INTO recipient VALUES (18, 1, 281474976710714, 'direct-58', NULL, 'ref-58');
INSERT INTO recipient VALUES (18, 1, 281474976710715, 'direct-59', NULL, 'ref-59');
INSERT INTO recipient VALUES (18, 1, 281474976710716, 'direct-60', NULL, 'ref-60');
INSERT INTO recipient VALUES (18, 1, 281474976710717, 'direct-61', NULL, 'ref-61');
INSERT INTO recipient VALUES (18, 1, 281474976710718, 'direct-62', NULL, 'ref-62');
INSERT INTO recipient VALUES (18, 1, 281474976710719, 'direct-63', NULL, 'ref-63');
INSERT INTO recipient VALUES (18, 1, 281474976710720, 'direct-64', NULL, 'ref-64');
INSERT INTO recipient VALUES (18, 1, 281474976710721, 'direct-65', NULL, 'ref-65');
INSERT INTO recipient VALUES (18, 1, 281474976710722, 'direct-66', NULL, 'ref-66');
INSERT INTO recipient VALUES (18, 1, 281474976710723, 'direct-67', NULL, 'ref-67');
INSERT INTO recipient VALUES (18, 1, 281474976710724, 'direct-68', NULL, 'ref-68');
INSERT INTO recipient VALUES (18, 1, 281474976710725, 'direct-69', NULL, 'ref-69');
INSERT INTO recipient VALUES (18, 1, 281474976710726, 'direct-70', NULL, 'ref-70');
INSERT INTO recipient VALUES (18, 1, 281474976710727, 'direct-71', NULL, 'ref-71');
INSERT INTO recipient VALUES (18, 1, 281474976710728, 'direct-72', NULL, 'ref-72');
INSERT INTO recipient VALUES (18, 1, 281474976710729, 'direct-73', NULL, 'ref-73');
INSERT INTO recipient VALUES (18, 1, 281474976710730, 'direct-74', NULL, 'ref-74');
INSERT INTO recipient VALUES (18, 1, 281474976710731, 'direct-75', NULL, 'ref-75');
INSERT INTO recipient VALUES (18, 1, 281474976710732, 'direct-76', NULL, 'ref-76');
INSERT INTO recipient VALUES (18, 1, 281474976710733, 'direct-77', NULL, 'ref-77');
INSERT INTO recipient VALUES (18, 1, 281474976710734, 'direct-78', NULL, 'ref-78');
INSERT INTO recipient VALUES (18, 1, 281474976710735, 'direct-79', NULL, 'ref-79');
INSERT INTO recipient VALUES (18, 1, 281474976710736, 'direct-80', NULL, 'ref-80');
INSERT INTO recipient VALUES (18, 1, 281474976710737, 'direct-81', NULL, 'ref-81');
INSERT INTO recipient VALUES (18, 1, 281474976710738, 'direct-82', NULL, 'ref-82');
INSERT INTO recipient VALUES (18, 1, 281474976710739, 'direct-83', NULL, 'ref-83');
INSERT INTO recipient VALUES (18, 1, 281474976710740, 'direct-84', NULL, 'ref-84');
INSERT INTO recipient VALUES (18, 1, 281474976710741, 'direct-85', NULL, 'ref-85');
INSERT INTO recipient VALUES (18, 1, 281474976710742, 'direct-86', NULL, 'ref-86');
INSERT INTO recipient VALUES (18, 1, 281474976710743, 'direct-87', NULL, 'ref-87');
INSERT INTO recipient VALUES (18, 1, 281474976710744, 'direct-88', NULL, 'ref-88');
INSERT INTO recipient VALUES (18, 1, 281474976710745, 'direct-89', NULL, 'ref-89');
INSERT INTO recipient VALUES (18, 1, 281474976710746, 'direct-90', NULL, 'ref-90');
INSERT INTO recipient VALUES (18, 1, 281474976710747, 'direct-91', NULL, 'ref-91');
INSERT INTO recipient VALUES (18, 1, 281474976710748, 'direct-92', NULL, 'ref-92');
INSERT INTO recipient VALUES (18, 1, 281474976710749, 'direct-93', NULL, 'ref-93');
INSERT INTO recipient VALUES (18, 1, 281474976710750, 'direct-94', NULL, 'ref-94');
INSERT INTO recipient VALUES (18, 1, 281474976710751, 'direct-95', NULL, 'ref-95');
INSERT INTO recipient VALUES (18, 1, 281474976710752, 'direct-96', NULL, 'ref-96');
INSERT INTO recipient VALUES (18, 1, 281474976710753, 'direct-97', NULL, 'ref-97');
INSERT INTO recipient VALUES (18, 1, 281474976710754, 'direct-98', NULL, 'ref-98');
INSERT INTO recipient VALUES (18, 1, 281474976710755, 'direct-99', NULL, 'ref-99');
INSERT INTO recipient VALUES (18, 1, 281474976710756, 'direct-100', NULL, 'ref-100');
INSERT INTO recipient VALUES (18, 1, 281474976710757, 'direct-101', NULL, 'ref-101');
INSERT INTO recipient VALUES (18, 1, 281474976710758, 'direct-102', NULL, 'ref-102');
INSERT INTO recipient VALUES (18, 1, 281474976710759, 'direct-103', NULL, 'ref-103');
INSERT INTO recipient VALUES (18, 1, 281474976710760, 'direct-104', NULL, 'ref-104');
INSERT INTO recipient VALUES (18, 1, 281474976710761, 'direct-105', NULL, 'ref-105');
INSERT INTO recipient VALUES (18, 1, 281474976710762, 'direct-106', NULL, 'ref-106');
INSERT INTO recipient VALUES (18, 1, 281474976710763, 'direct-107', NULL, 'ref-107');
INSERT INTO recipient VALUES (18, 1, 281474976710764, 'direct-108', NULL, 'ref-108');
INSERT INTO recipient VALUES (18, 1, 281474976710765, 'direct-109', NULL, 'ref-109');
INSERT INTO recipient VALUES (18, 1, 281474976710766, 'direct-110', NULL, 'ref-110');
INSERT INTO recipient VALUES (18, 1, 281474976710767, 'direct-111', NULL, 'ref-111');
INSERT INTO recipient VALUES (18, 1, 281474976710768, 'direct-112', NULL, 'ref-112');
INSERT INTO recipient VALUES (18, 1, 281474976710769, 'direct-113', NULL, 'ref-113');
INSERT INTO recipient VALUES (18, 1, 281474976710770, 'direct-114', NULL, 'ref-114');
INSERT INTO recipient VALUES (18, 1, 281474976710771, 'direct-115', NULL, 'ref-115');
INSERT INTO recipient VALUES (18, 1, 281474976710772, 'direct-116', NULL, 'ref-116');
INSERT INTO recipient VALUES (18, 1, 281474976710773, 'direct-117', NULL, 'ref-117');
INSERT INTO recipient VALUES (18, 1, 281474976710774, 'direct-118', NULL, 'ref-118');
INSERT INTO recipient VALUES (18, 1, 281474976710775, 'direct-119', NULL, 'ref-119');
INSERT INTO recipient VALUES (18, 1, 281474976710776, 'direct-120', NULL, 'ref-120');
INSERT INTO recipient VALUES (18, 1, 281474976710777, 'direct-121', NULL, 'ref-121');
INSERT INTO recipient VALUES (18, 1, 281474976710778, 'direct-122', NULL, 'ref-122');
INSERT INTO recipient VALUES (18, 1, 281474976710779, 'direct-123', NULL, 'ref-123');
INSERT INTO recipient VALUES (18, 1, 281474976710780, 'direct-124', NULL, 'ref-124');
INSERT INTO recipient VALUES (18, 1, 281474976710781, 'direct-125', NULL, 'ref-125');
INSERT INTO recipient VALUES (18, 1, 281474976710782, 'direct-126', NULL, 'ref-126');
INSERT INTO recipient VALUES (18, 1, 281474976710783, 'direct-127', NULL, 'ref-127');
INSERT INTO recipient VALUES (18, 1, 281474976710784, 'direct-128', NULL, 'ref-128');
INSERT INTO recipient VALUES (18, 1, 281474976710785, 'direct-129', NULL, 'ref-129');
INSERT INTO recipient VALUES (18, 1, 281474976710786, 'direct-130', NULL, 'ref-130');
INSERT INTO recipient VALUES (18, 1, 281474976710787, 'direct-131', NULL, 'ref-131');
INSERT INTO recipient VALUES (18, 1, 281474976710788, 'direct-132', NULL, 'ref-132');
INSERT INTO recipient VALUES (18, 1, 281474976710789, 'direct-133', NULL, 'ref-133');
INSERT INTO recipient VALUES (18, 1, 281474976710790, 'direct-134', NULL, 'ref-134');
INSERT INTO recipient VALUES (18, 1, 281474976710791, 'direct-135', NULL, 'ref-135');
INSERT INTO recipient VALUES (18, 1, 281474976710792, 'direct-136', NULL, 'ref-136');
INSERT INTO recipient VALUES (18, 1, 281474976710793, 'direct-137', NULL, 'ref-137');
INSERT INTO recipient VALUES (18, 1, 281474976710794, 'direct-138', NULL, 'ref-138');
INSERT INTO recipient VALUES (18, 1, 281474976710795, 'direct-139', NULL, 'ref-139');
INSERT INTO recipient VALUES (18, 1, 281474976710796, 'direct-140', NULL, 'ref-140');
INSERT INTO recipient VALUES (18, 1, 281474976710797, 'direct-141', NULL, 'ref-141');
INSERT INTO recipient VALUES (18, 1, 281474976710798, 'direct-142', NULL, 'ref-142');
INSERT INTO recipient VALUES (18, 1, 281474976710799, 'direct-143', NULL, 'ref-143');
INSERT INTO recipient VALUES (18, 1, 281474976710800, 'direct-144', NULL, 'ref-144');
INSERT INTO recipient VALUES (18, 1, 281474976710801, 'direct-145', NULL, 'ref-145');
INSERT INTO recipient VALUES (18, 1, 281474976710802, 'direct-146', NULL, 'ref-146');
INSERT INTO recipient VALUES (18, 1, 281474976710803, 'direct-147', NULL, 'ref-147');
INSERT INTO recipient VALUES (18, 1, 281474976710804, 'direct-148', NULL, 'ref-148');
INSERT INTO recipient VALUES (18, 1, 281474976710805, 'direct-149', NULL, 'ref-149');
INSERT INTO recipient VALUES (18, 1, 281474976710806, 'direct-150', NULL, 'ref-150');
INSERT INTO recipient VALUES (35, 1, 281474976710657, 'direct-1', NULL, 'ref-1');
INSERT INTO recipient VALUES (35, 1, 281474976710658, 'direct-2', NULL, 'ref-2');
INSERT INTO recipient VALUES (36, 1, 281474976710657, 'news', NULL, NULL);
INSERT INTO hub_call VALUES (36, 1, 281474976710657, 'submitting', 1800086605000, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO cursor VALUES (5, 1, 2, 2, 1, 1, 2);
INSERT INTO cursor VALUES (5, 2, 2, 2, 0, 1, 0);
INSERT INTO cursor VALUES (5, 3, 2, 2, 0, 1, 0);
INSERT INTO cursor VALUES (5, 4, 2, 2, 0, 1, 0);
INSERT INTO cursor VALUES (5, 5, 2, 2, 0, 1, 0);
INSERT INTO cursor VALUES (6, 1, 2, 2, 1, 1, 2);
INSERT INTO cursor VALUES (6, 2, 2, 2, 0, 1, 0);
INSERT INTO cursor VALUES (6, 3, 2, 2, 0, 1, 0);
INSERT INTO cursor VALUES (6, 4, 2, 2, 0, 1, 0);
INSERT INTO cursor VALUES (6, 5, 2, 2, 0, 1, 0);
INSERT INTO cursor VALUES (18, 1, 281474976710806, 281474976710806, 2, 1, 150);
INSERT INTO cursor VALUES (18, 2, 0, 0, 0, 1, 0);
INSERT INTO cursor VALUES (18, 3, 0, 0, 0, 1, 0);
INSERT INTO cursor VALUES (18, 4, 0, 0, 0, 1, 0);
INSERT INTO cursor VALUES (18, 5, 0, 0, 0, 1, 0);
INSERT INTO cursor VALUES (33, 1, 11, 11, 1, 1, 4);
INSERT INTO cursor VALUES (33, 2, 11, 11, 0, 1, 0);
INSERT INTO cursor VALUES (33, 3, 11, 11, 0, 1, 0);
INSERT INTO cursor VALUES (33, 4, 11, 11, 0, 1, 0);
INSERT INTO cursor VALUES (33, 5, 11, 11, 0, 1, 0);
INSERT INTO batch VALUES (5, 1, 0, 0, 0, 2, 2, 0, 6, NULL, NULL, NULL, NULL, NULL);
INSERT INTO batch VALUES (5, 1, 0, 1, 0, 2, 1, 1, 7, 1800000060000, X'0100000000000000010000000000', NULL, NULL, NULL);
INSERT INTO batch VALUES (6, 1, 0, 0, 0, 2, 2, 1, 9, NULL, NULL, NULL, NULL, NULL);
INSERT INTO batch VALUES (18, 1, 0, 0, 0, 281474976710756, 100, 1, 22, NULL, NULL, NULL, NULL, NULL);
INSERT INTO batch VALUES (18, 1, 1, 0, 281474976710756, 281474976710806, 50, 1, 23, NULL, NULL, NULL, NULL, NULL);
INSERT INTO batch VALUES (19, 1, 0, 0, 0, 9223372036854775807, 1, 0, 25, NULL, NULL, NULL, NULL, NULL);
INSERT INTO batch VALUES (21, 1, 0, 0, 0, 8, 2, 0, 30, NULL, NULL, NULL, NULL, NULL);
INSERT INTO batch VALUES (33, 1, 0, 0, 0, 11, 4, 0, 42, NULL, NULL, NULL, NULL, NULL);
INSERT INTO outcome VALUES (5, 1, 0, 0, 0, 1, 0, 0, 1);
INSERT INTO outcome VALUES (19, 1, 0, 0, 0, 1, 0, 0, 0);
INSERT INTO outcome VALUES (21, 1, 0, 0, 2, 0, 0, 0, 0);
INSERT INTO outcome VALUES (33, 1, 0, 0, 0, 1, 0, 0, 0);
INSERT INTO delivery_count VALUES (5, 1, 0, 2);
INSERT INTO delivery_count VALUES (5, 1, 10, 1);
INSERT INTO delivery_count VALUES (19, 1, 0, 1);
INSERT INTO delivery_count VALUES (19, 1, 10, 1);
INSERT INTO delivery_count VALUES (21, 1, 0, 2);
INSERT INTO delivery_count VALUES (21, 1, 1, 2);
INSERT INTO delivery_count VALUES (33, 1, 0, 1);
INSERT INTO delivery_count VALUES (33, 1, 10, 1);
INSERT INTO delivery VALUES (1, 5, 1, 2, 10, 410, '', 1800000060000, NULL);
INSERT INTO delivery VALUES (2, 19, 1, 281474976710657, 10, 410, '', 1800086570000, 'ref-1');
INSERT INTO delivery VALUES (3, 33, 1, 2, 10, 410, 'r', 1800086575000, NULL);
INSERT INTO platform_count VALUES (1, 'gcm', 1, 1);
INSERT INTO dead VALUES (1, 'pushline.x', 'deliver', '6', 589729691727335466, '', 1, 'r', X'', 2, 1800086570000, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO dead VALUES (2, 'pushline.x', 'deliver', '4711', 589729691727335466, 'default', 1, 'r', X'', 2, 1800086575000, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO dead_number VALUES ('', 1);
INSERT INTO dead_number VALUES ('default', 1);
INSERT INTO suspect VALUES (X'01010101010101010101010101010101', 1800086575000);
INSERT INTO content VALUES (1, 1, '1k8b9gl6f42as6eorf3a18jeqbv0fd9s', NULL, NULL, '', X'', 1800086570000);
INSERT INTO content VALUES (2, 1, '1k8b9gleavrm3oiauhvcq1jaatbpr7li', 'ann', NULL, 'image/png', X'01', 1800086575000);
INSERT INTO content_usage VALUES (1, '', 2049);
INSERT INTO content_usage VALUES (1, 'account:ann', 1025);
INSERT INTO content_usage VALUES (1, 'key:', 1024);
INSERT INTO rich VALUES (1, 1, 1208037609, NULL, NULL, 'ann', NULL, 'm', 'img', '1k8b9gleavrm3oiauhvcq1jaatbpr7li', 0, 1800086575000, NULL);
INSERT INTO rich_count VALUES (1, 1);
INSERT INTO user_removal VALUES (37, 1, 'dan', 2, 1, 1, 0);
INSERT INTO removed_user VALUES (1, -2038822532256582171, 37, 1800086575000);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES ('message', 46);
INSERT INTO sqlite_sequence VALUES ('job', 37);
INSERT INTO sqlite_sequence VALUES ('tag_name', 3);
INSERT INTO sqlite_sequence VALUES ('registration', 11);
INSERT INTO sqlite_sequence VALUES ('delivery', 3);
INSERT INTO sqlite_sequence VALUES ('dead_handle', 2);
INSERT INTO sqlite_sequence VALUES ('dead', 2);
INSERT INTO sqlite_sequence VALUES ('content', 2);
INSERT INTO sqlite_sequence VALUES ('session', 1);
INSERT INTO sqlite_sequence VALUES ('template', 1);
INSERT INTO sqlite_sequence VALUES ('rich', 1);
