import NIOConcurrencyHelpers
import StoreSQL

/// A statement as it is sent, with its parameters in binary form.
struct PostgreSQLStatement: Sendable {
    let text: String
    let parameters: [Parameter]

    init(_ text: String, _ parameters: [Parameter] = []) { (self.text, self.parameters) = (text, parameters) }

    /// A statement that all drivers share.
    ///
    /// One that expects a number of rows is counted by the server, which fails all that was sent with it where the number is another:
    /// so nobody waits for the answer with rows held. Such a statement gives its count alone.
    init(shared statement: SQLStatement) {
        let text = Self.texts.text(of: statement)
        self.parameters = statement.values.map(Parameter.init)
        guard let expected = statement.expectedRows else {
            self.text = text
            return
        }
        let returning = text.drop { $0.isWhitespace }.hasPrefix("SELECT") ? "" : " RETURNING 1"
        self.text = "WITH found AS (\(text)\(returning)) SELECT must(count(*) = \(expected)) FROM found"
    }

    /// Whether it is so large that its plan costs nothing beside it.
    ///
    /// A plan that is kept is one for the tables as they were: made before a first import, it would walk all that this import brings, until
    /// autovacuum looks at them a minute later.
    var isPlannedAnew: Bool { self.parameters.contains { $0.count > 1024 } }

    private static let texts = StatementTexts()

    /// A value that is sent, of a type that is said: the server guesses none.
    enum Parameter: Sendable {
        case null
        case integer(Int64)
        case text(String)
        case bytes([UInt8])
        case integers([Int64?])
        case texts([String?])
        case byteStrings([[UInt8]?])

        /// The number of values.
        var count: Int {
            switch self {
            case .null, .integer, .text, .bytes: 1
            case .integers(let numbers): numbers.count
            case .texts(let texts): texts.count
            case .byteStrings(let strings): strings.count
            }
        }

        init(_ value: SQLValue) {
            self =
                switch value {
                case .null: .null
                case .integer(let number): .integer(number)
                case .text(let text): .text(text)
                case .bytes(let bytes): .bytes(bytes)
                case .array(.integers(let numbers)): .integers(numbers)
                case .array(.texts(let texts)): .texts(texts)
                case .array(.byteStrings(let strings)): .byteStrings(strings)
                }
        }
    }
}

/// Texts as PostgreSQL reads them, each made once: they are few, for what differs is a parameter.
private final class StatementTexts: Sendable {
    /// More than there are, unless a text is made of what it is given.
    private static let limit = 4096

    private let known = NIOLockedValueBox<[String: String]>([:])

    func text(of statement: SQLStatement) -> String {
        if let text = self.known.withLockedValue({ $0[statement.text] }) { return text }
        let text = statement.postgreSQLText
        self.known.withLockedValue { known in
            if known.count >= Self.limit { known = [:] }
            known[statement.text] = text
        }
        return text
    }
}
