/// The table of what operators have done.
enum ActSchema {
    static let tables = """
        -- app: null = the host, or all apps. actor: who, with its kind. state: Act.State. ended: when it ended.
        CREATE TABLE act(
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            app INTEGER REFERENCES app,
            at INTEGER NOT NULL,
            actor TEXT NOT NULL,
            via TEXT NOT NULL,
            origin TEXT NOT NULL,
            kind TEXT NOT NULL,
            user TEXT,
            target TEXT,
            request TEXT,
            state TEXT NOT NULL,
            ended INTEGER,
            result TEXT
        ) STRICT;
        CREATE INDEX act_app ON act(app);
        CREATE INDEX act_actor ON act(app, actor);
        CREATE INDEX act_kind ON act(app, kind);
        CREATE INDEX act_user ON act(app, user) WHERE user IS NOT NULL;
        """
}
