extension SQLStatement {
    /// A part that no form of words makes one for both engines; a line each.
    static func text(forSQLite sqlite: String, forPostgreSQL postgreSQL: String) -> String {
        "/*<*/\(sqlite)/*>*//*!\(postgreSQL)*/"
    }

    /// Stored JSON as PostgreSQL reads it, which takes no U+0000 in it: what is read or written of it there does not matter for that sign.
    static func postgreSQLJSON(_ column: String) -> String { "replace(\(column), '\\u0000', '\\ufffd')::jsonb" }

    /// The statement as PostgreSQL reads it: with what SQLite passes over, and without what is SQLite's alone and the indexes that it is
    /// told.
    ///
    /// It has numbered parameters, and its own names for the elements of an array, for the place of a text in another, and for the number
    /// of the row that was inserted last.
    package var postgreSQLText: String {
        let words = self.text.replacing(#/\/\*<\*\/.*?\/\*>\*\//#, with: "")
            .replacing("json_each(", with: "jsonb_array_elements_text(")
            .replacing("instr(", with: "strpos(").replacing("last_insert_rowid()", with: "lastval()")
            .replacing(#/\sINDEXED BY \w+/#, with: "").replacing("/*!", with: "").replacing("*/", with: "")
        var (text, number) = ("", 0)
        for part in words.split(separator: "?", omittingEmptySubsequences: false) {
            // One that is numbered has its number behind it.
            if number > 0 { text += part.first?.isNumber == true ? "$" : "$\(number)" }
            text += part
            number += 1
        }
        return text
    }
}
