import Payloads
import PushModel
import Testing
import Undisturbed

@Suite("Templates", .undisturbed)
struct TemplateTests {
    /// Values that break out of naive templates.
    static let hostile = [
        "\"", "\\", "\",\"aps\":{\"alert\":\"x\"},\"y\":\"", "</text><text>", "]]>", "<![CDATA[", "&", "&amp;", "'",
        "$(other)", "{'a'}",
        "\u{0}", "\u{1F}", "\n", "\r", "\t", "\u{2028}", "e\u{301}", "👩‍👩‍👧", "%(x)", "\u{FFFE}", "\u{202E}", "<?x?>",
        "<!DOCTYPE a>", "1]", "1}", "01", "-",
        String(repeating: "\"", count: 1000),
    ]

    private func value(_ text: String, _ properties: [String: String] = [:]) throws -> String {
        try TemplateExpression(text).value(for: TemplateProperties(properties)).text
    }

    @Test("Each form of an expression")
    func forms() throws {
        let properties = ["name": "Hello, World", "n": "42"]
        for (text, expected) in [
            ("plain", "plain"), ("", ""), ("a $(name)", "a $(name)"), ("$(name)", "Hello, World"),
            ("$(NAME)", "Hello, World"),
            ("$(none)", ""), ("$(name, 5)", "Hello"), ("$(name,0)", ""), (".(name, 8)", "Hello..."),
            (".(name, 2)", ".."), (".(name, 50)", "Hello, World"),
            ("%(name)", "Hello%2C%20World"), ("#(n)", "42"), ("{'Hi ' + $(n)}", "Hi 42"),
            ("{\"it's \" + $(n) + 'a''b' + %(name)}", "it's 42a'bHello%2C%20World"),
            ("{ 'x' }", "x"), ("$(none:{a\\}b})", "a}b"), ("$(n:{x})", "42"), ("$( n )", "42"),
        ] { #expect(try self.value(text, properties) == expected, "\(text)") }
    }

    @Test(
        "Malformed expressions are refused",
        arguments: [
            "$", "$5", "$(", "$()", "$(a", "$(a,)", "$(a,-1)", "$(a b)", "$(a)x", ".(a)", "%(a,1)", "#(a,1)", "#", "{",
            "{}", "{'a'", "{'a' $(b)}",
            "{#(a)}", "{'a}", "{'a'+}", "$(é)", "$($body)", "$(a:x)", "$(a:{x)",
            "$(\(String(repeating: "a", count: 121)))", "$(a,9999999)", ".", "%",
            "{{'a'}}", String(repeating: "{", count: 10_000), "$(a:{\\",
        ]
    )
    func malformed(text: String) { #expect(throws: InvalidValue.self) { try TemplateExpression(text) } }

    @Test("Numbers lose their quotes only where JSON has such a number")
    func numbers() throws {
        let template = try HubTemplate(##"{"aps":{"badge":"#(n)"}}"##)
        for (given, expected) in [
            ("7", "7"), ("-1.5e3", "-1.5e3"), ("007", "\"007\""), ("1,\"x\":2", #""1,\"x\":2""#), ("NaN", "\"NaN\""),
            ("0x10", "\"0x10\""), ("", "\"\""),
            ("1 ", "\"1 \""), ("٣", "\"٣\""),
        ] {
            let filled = try template.filled(TemplateProperties(["n": given]))
            #expect(String(decoding: filled, as: UTF8.self) == #"{"aps":{"badge":\#(expected)}}"#, "\(given)")
        }
    }

    @Test("No value breaks out of JSON", arguments: hostile)
    func json(value: String) throws {
        let template = try HubTemplate(
            ##"{"aps":{"alert":"$(x)","n":"#(x)","l":["{'a' + $(x)}"]},"u":"%(x)","$(x)":1}"##
        )
        let filled = try JSONReader.read(try template.filled(TemplateProperties(["x": value])))
        guard case .object(let members) = filled, case .object(let aps) = members[0].value else {
            Issue.record("no object")
            return
        }
        #expect(members.map(\.name) == ["aps", "u", "$(x)"] && aps.map(\.name) == ["alert", "n", "l"])
        #expect(
            aps[0].value == .string(value) && aps[1].value == .string(value)
                && aps[2].value == .array([.string("a" + value)])
        )
        #expect(members[1].value == .string(PercentCoding.encode(value)))
    }

    @Test("No value breaks out of XML", arguments: hostile)
    func xml(value: String) throws {
        let template = try HubTemplate(
            #"<toast launch="$(x)"><visual><binding template="ToastText01"><text id="1">$(x)</text><text><![CDATA[.(x, 2000)]]></text></binding></visual></toast>"#
        )
        let filled = try XMLReader.read(try template.filled(TemplateProperties(["x": value])))
        let binding = try #require(filled.elements.first?.elements.first)
        #expect(filled.attributes.map(\.name) == ["launch"] && binding.elements.map(\.name) == ["text", "text"])
        // XML has no place for some characters, not even as references.
        let expected = String(
            String.UnicodeScalarView(value.unicodeScalars.map { Self.isForbidden($0) ? "\u{FFFD}" : $0 })
        )
        #expect(Array(filled.attributes[0].value.utf8) == Array(expected.utf8))
        #expect(binding.elements.allSatisfy { Array($0.text.utf8) == Array(expected.utf8) })
        #expect(binding.elements.allSatisfy { $0.elements.isEmpty })
    }

    private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        (scalar.value < 0x20 && ![0x9, 0xA, 0xD].contains(scalar.value)) || [0xFFFE, 0xFFFF].contains(scalar.value)
    }

    @Test(
        "A template that is no document is refused",
        arguments: [
            "", "text", #"{"a":"$("}"#, #"{"a":"#, "<toast>", "<toast a=\"$(\"/>", "<toast>$(</toast>",
            "<!DOCTYPE a><toast/>", "[\"#\"]",
        ]
    )
    func wrongDocuments(text: String) { #expect(throws: InvalidValue.self) { try HubTemplate(text) } }

    @Test("A few expressions do not make a burden of a long property")
    func long() throws {
        let properties = TemplateProperties(["x": String(repeating: "e\u{301}", count: 20_000)])
        let many = "[" + Array(repeating: "\"$(x)\"", count: 6000).joined(separator: ",") + "]"
        let clipped = "[" + Array(repeating: "\"$(x, 2)\"", count: 5000).joined(separator: ",") + "]"
        let joined = "{" + Array(repeating: "$(x)", count: 6000).joined(separator: "+") + "}"
        let xml = "<t>" + String(repeating: "<a b=\"$(x)\"/>", count: 3000) + "</t>"
        let start = ContinuousClock.now
        for (text, isTooLong) in [(many, true), (clipped, false), (joined, true), (xml, true)] {
            let template = try HubTemplate(text, isRaw: true)
            if isTooLong {
                #expect(throws: InvalidValue.self) { try template.filled(properties) }
            } else {
                #expect(try template.filled(properties).count < HubTemplate.maximumValues)
            }
        }
        #expect(ContinuousClock.now - start < .seconds(5))
    }

    @Test("A raw template is one value")
    func raw() throws {
        let template = try HubTemplate("{'a:' + $(x)}", isRaw: true)
        #expect(try template.filled(TemplateProperties(["x": "<&\""])) == Array("a:<&\"".utf8))
    }

    @Test("Properties are a flat object of texts, by names without letter case")
    func properties() throws {
        let read = try TemplateProperties(reading: Array(#"{"Name":"a","n":1,"f":true,"z":null}"#.utf8))
        #expect(read["name"] == "a" && read["N"] == "1" && read["f"] == "true" && read["z"] == nil)
        // The Java client does not escape quotes.
        for text in [#"{"a":"say "hi""}"#, "[]", #"{"a":{}}"#, #"{"a":"1","A":"2"}"#, ""] {
            #expect(throws: InvalidValue.self) { try TemplateProperties(reading: Array(text.utf8)) }
        }
    }
}
