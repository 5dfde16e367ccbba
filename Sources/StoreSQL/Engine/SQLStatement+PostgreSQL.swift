extension SQLStatement {
    /// The statement as PostgreSQL reads it: with numbered parameters, with what SQLite passes over, and with its own name for the elements
    /// of an array.
    package var postgreSQLText: String {
        let words = self.text.replacing("json_each(", with: "jsonb_array_elements_text(")
            .replacing("/*!", with: "").replacing("*/", with: "")
        var (text, number) = ("", 0)
        for part in words.split(separator: "?", omittingEmptySubsequences: false) {
            if number > 0 { text += "$\(number)" }
            text += part
            number += 1
        }
        return text
    }
}
