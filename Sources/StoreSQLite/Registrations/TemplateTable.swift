/// The table of templates: each content of an app once, however many devices have it.
enum TemplateTable {
    static let schema = """
        -- AUTOINCREMENT: a batch that names one must not find another's. content: JSON of a DeviceTemplate.Content.
        CREATE TABLE template(
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            app INTEGER NOT NULL REFERENCES app,
            digest BLOB NOT NULL,
            content TEXT NOT NULL,
            UNIQUE (app, digest)
        ) STRICT;
        """
}
