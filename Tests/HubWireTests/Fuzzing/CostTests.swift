import HubWire
import Payloads
import PushModel
import StoreKit
import Testing
import WorkCost

/// What the parsers cost at the inputs that are dearest for them.
///
/// The work of a caller's text grows with its bytes, and not with what they make a parser do: at most fifty plain passes over them, and
/// for twice the bytes not more than two and a half times as much.
@Suite("Parsers cost what their inputs weigh", .serialized, .timeLimit(.minutes(10)))
struct CostTests {
    @Test("Tag expressions", arguments: Self.expressions) func expression(input: DearInput) {
        Self.check(input, size: 64 << 10)
    }

    @Test("JSON", arguments: Self.json) func ofJSON(input: DearInput) { Self.check(input) }

    @Test("XML", arguments: Self.xml) func ofXML(input: DearInput) { Self.check(input) }

    @Test("Templates", arguments: Self.templates) func template(input: DearInput) { Self.check(input, size: 16 << 10) }

    @Test("Requests of the wire", arguments: Self.requests) func request(input: DearInput) { Self.check(input) }

    @Test("Headers and addresses", arguments: Self.headers) func header(input: DearInput) {
        Self.check(input, size: 16 << 10)
    }

    private static func check(_ input: DearInput, size: Int = 32 << 10) {
        let cost = input.cost(size: size)
        #expect(cost.passes <= WorkCost.mostPasses, "\(input): \(cost.passes) passes")
        #expect(cost.growth <= WorkCost.mostGrowth, "\(input): twice the input costs \(cost.growth) times as much")
        #expect(cost.wasTaken == input.isTaken, "\(input) is read otherwise than it was made for")
        print("cost: \(input): \(Int(cost.passes * 10)) tenths of a pass, growth \(Int(cost.growth * 100)) %")
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    /// An accent that makes no character of its own: thousands of them are one with the letter before.
    private static let accent = "\u{301}"
    /// Accents out of the order that normal forms have them in.
    private static let accents = "\u{301}\u{316}\u{334}"

    // MARK: Tag expressions

    private static func expression(
        _ name: String,
        isWritten: Bool = false,
        _ make: @escaping @Sendable (Int) -> [UInt8]
    ) -> DearInput {
        DearInput("an expression, \(name)", make) { bytes in
            let text = Self.text(bytes)
            _ = isWritten ? try TagExpression(parsing: text, .folded) : try TagExpression(stored: text, .folded)
        }
    }

    /// What becomes of each expression that was read: it is compiled, kept as text, and asked for whom it may hold.
    @Test("Tag expressions on their way", arguments: Self.expressions.filter(\.isTaken))
    func expressionOnItsWay(input: DearInput) throws {
        let (long, short) = (input.make(64 << 10), input.make(32 << 10))
        func read(_ bytes: [UInt8]) throws -> TagExpression {
            try TagExpression(
                stored: Self.text(bytes).replacing("$InstallationId:{", with: "").replacing("}", with: ""),
                .folded
            )
        }
        let expressions = (long: try read(long), short: try read(short))
        for (name, work) in [
            ("compiled", { _ = CompiledExpression($0) }), ("written", { _ = $0.description }),
            ("asked", { expression in _ = expression.mayHold { $0.key == "b" } }),
        ] as [(String, (TagExpression) -> Void)] {
            let growth = WorkCost.growth({ work(expressions.long) }, over: { work(expressions.short) })
            #expect(growth <= WorkCost.mostGrowth, "\(name): twice the input costs \(growth) times as much")
            let passes = WorkCost.passes(over: long, attempts: 2) { work(expressions.long) }
            #expect(passes <= WorkCost.mostPasses, "\(name): \(passes) passes")
        }
    }

    static let expressions: [DearInput] = [
        Self.expression("conjunctions of disjunctions") { DearInput.fill($0, "(a||b)&&", and: "c") },
        Self.expression("disjunctions of conjunctions") { DearInput.fill($0, "a&&b||", and: "c") },
        Self.expression("nested to the right") { size in
            let count = size / 11
            return Array(
                (String(repeating: "a&&(b||(", count: count) + "c" + String(repeating: "))", count: count)).utf8
            )
        },
        Self.expression("nested to the left") { size in
            let count = size / 9
            return Array((String(repeating: "(", count: count) + "c" + String(repeating: "&&b)||a", count: count)).utf8)
        },
        Self.expression("parentheses") { size in
            Array((String(repeating: "(", count: size / 2) + "c" + String(repeating: ")", count: size / 2)).utf8)
        },
        Self.expression("negations") { DearInput.fill($0, "!", and: "a") },
        Self.expression("negations in parentheses") { size in
            Array((String(repeating: "!(a||", count: size / 6) + "c" + String(repeating: ")", count: size / 6)).utf8)
        },
        Self.expression("many tags") { DearInput.number($0, by: "||") { "t\($0)" } },
        Self.expression("many tags, one of which is excluded") {
            DearInput.number($0, and: "&&!b", by: "&&") { "t\($0)" }
        },
        Self.expression("users") { DearInput.number($0, by: "||") { "username:u\($0)" } },
        Self.expression("one tag again and again") { DearInput.fill($0, "t||", and: "t") },
        Self.expression("blanks") { DearInput.fill($0, " ", and: "a") },
        Self.expression("as many tags as are written, far apart", isWritten: true) { size in
            DearInput.number(min(size, 40_000), by: String(repeating: " ", count: 20) + "&&") { "t\($0)" }
        },
        DearInput("an expression, more tags than are written", isTaken: false) {
            DearInput.fill($0, "(a||b)&&", and: "c")
        } read: { bytes in
            _ = try TagExpression(parsing: Self.text(bytes), .folded)
        },
        DearInput("an expression of the wire, tags of the system") {
            DearInput.number(min($0, 48_000), by: "||") { "$InstallationId:{i-\($0)}" }
        } read: { bytes in
            _ = try WireTags.expression(Self.text(bytes), .folded)
        },
        DearInput("an expression of the wire, accents", isTaken: false) {
            DearInput.fill($0, Self.accent, between: "$UserId:{a}||$UserId:{b")
        } read: { bytes in
            _ = try WireTags.expression(Self.text(bytes), .folded)
        },
    ]

    // MARK: JSON

    private static func json(
        _ name: String,
        isTaken: Bool = true,
        _ make: @escaping @Sendable (Int) -> [UInt8]
    ) -> DearInput {
        DearInput("JSON, \(name)", isTaken: isTaken, make) { bytes in _ = try JSONReader.read(bytes) }
    }

    static let json: [DearInput] = [
        Self.json("deep", isTaken: false) { DearInput.fill($0, "[") },
        Self.json("as deep as is taken") { size in
            let deep = String(repeating: "[", count: 30) + String(repeating: "]", count: 30)
            return DearInput.fill(size, deep + ",", between: "[", and: "0]")
        },
        Self.json("many members") { DearInput.number($0, between: "{", and: "}") { "\"m\($0)\":\($0)" } },
        Self.json("empty objects") { DearInput.fill($0, "{},", between: "[", and: "0]") },
        Self.json("escapes") { DearInput.fill($0, "\\u0041", between: "\"", and: "\"") },
        Self.json("pairs of surrogates") { DearInput.fill($0, "\\ud83d\\ude00", between: "\"", and: "\"") },
        Self.json("lone surrogates") { DearInput.fill($0, "\\ud83d", between: "\"", and: "\"") },
        Self.json("accents") { DearInput.fill($0, Self.accents, between: "\"a", and: "\"") },
        Self.json("names with accents") { size in
            DearInput.number(size, between: "{", and: "}") {
                "\"a\(String(repeating: Self.accents, count: 8))\($0)\":0"
            }
        },
        Self.json("a long number") { DearInput.fill($0, "9") },
        Self.json("many numbers") { DearInput.fill($0, "1e9,", between: "[", and: "0]") },
        Self.json("a long text") { DearInput.fill($0, "a", between: "\"", and: "\"") },
        Self.json("a text without an end", isTaken: false) { DearInput.fill($0, "a", between: "\"") },
        Self.json("blanks") { DearInput.fill($0, "\n", and: "0") },
        DearInput("JSON that is written again, escapes") {
            DearInput.fill($0, "\\u0001", between: "[\"", and: "\"]")
        } read: { bytes in
            _ = try JSONReader.read(bytes).bytes
        },
    ]

    // MARK: XML

    private static func xml(
        _ name: String,
        isTaken: Bool = true,
        _ make: @escaping @Sendable (Int) -> [UInt8]
    ) -> DearInput {
        DearInput("XML, \(name)", isTaken: isTaken, make) { bytes in _ = try XMLReader.read(bytes) }
    }

    static let xml: [DearInput] = [
        Self.xml("deep", isTaken: false) { DearInput.fill($0, "<a>") },
        Self.xml("many elements") { DearInput.fill($0, "<a/>", between: "<r>", and: "</r>") },
        Self.xml("as deep as is taken") { size in
            let deep = String(repeating: "<a>", count: 30) + String(repeating: "</a>", count: 30)
            return DearInput.fill(size, deep, between: "<r>", and: "</r>")
        },
        Self.xml("many attributes") { DearInput.number($0, between: "<r ", and: "/>", by: " ") { "a\($0)=\"\"" } },
        Self.xml("a long namespace of many attributes") { size in
            let address = String(repeating: "n", count: size / 2)
            return DearInput.number(size, between: "<r xmlns:p=\"\(address)\" ", and: "/>", by: " ") { "p:a\($0)=\"\"" }
        },
        Self.xml("namespaces of many elements") { size in
            let prefixes = (0..<60).map { "xmlns:p\($0)=\"\($0)\"" }.joined(separator: " ")
            return DearInput.fill(size, "<a xmlns:q=\"1\"/>", between: "<r \(prefixes)>", and: "</r>")
        },
        Self.xml("references") { DearInput.fill($0, "&#65;", between: "<r>", and: "</r>") },
        Self.xml("sections") { DearInput.fill($0, "<![CDATA[a]]>", between: "<r>", and: "</r>") },
        Self.xml("comments") { DearInput.fill($0, "<!---->", between: "<r>", and: "</r>") },
        Self.xml("instructions") { DearInput.fill($0, "<?a?>", between: "<r>", and: "</r>") },
        Self.xml("a comment without an end", isTaken: false) { DearInput.fill($0, "<!-", between: "<r><!--") },
        Self.xml("brackets") { DearInput.fill($0, "]", between: "<r>", and: "</r>") },
        Self.xml("accents in names") { DearInput.fill($0, "<a\(Self.accents)/>", between: "<r>", and: "</r>") },
        Self.xml("a long name") { DearInput.fill($0, "a", between: "<", and: "/>") },
        Self.xml("line breaks") { DearInput.fill($0, "\r\n", between: "<r>", and: "</r>") },
        Self.xml("blanks in the declaration", isTaken: false) {
            DearInput.fill($0, " ", between: "<?xml version=\"1.0\"", and: "x?><r/>")
        },
        Self.xml("blanks before the version", isTaken: false) {
            DearInput.fill($0, " ", between: "<?xml ", and: "x?><r/>")
        },
        DearInput("XML that is written again, references") {
            DearInput.fill($0, "&amp;", between: "<r>", and: "</r>")
        } read: { bytes in
            _ = try XMLReader.read(bytes).bytes
        },
    ]
}
