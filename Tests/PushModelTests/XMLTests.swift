import PushModel
import Testing
import Undisturbed

/// XML that is read: nothing but well-formed text, within its limits.
@Suite(.undisturbed) struct XMLTests {
    @Test func anElementIsReadWithAttributesAndTextInTheirPlaces() throws {
        let tree = try XMLReader.read(
            Array(
                "<?xml version=\"1.0\" encoding=\"utf-8\"?><e xmlns:i='http://i' i:type='a&quot;&#65;'> x &amp; <!-- c --><b>1</b><c/><![CDATA[<d>]]> y</e>"
                    .utf8
            )
        )
        #expect(
            tree
                == XMLTree(
                    "e",
                    attributes: [.init("xmlns:i", "http://i"), .init("i:type", "a\"A")],
                    [.text(" x & "), .element(XMLTree("b", text: "1")), .element(XMLTree("c")), .text("<d> y")]
                )
        )
        #expect(tree.attribute("type") == "a\"A")
        #expect(tree.first("b")?.text == "1")
        #expect(tree.text == " x & <d> y")
        #expect(XMLTree("a:b").localName == "b")
    }

    @Test(arguments: [
        "", " ", "x", "<a>", "</a>", "<a></b>", "<a/><b/>", "<a/>x", "<a b='1' b='2'/>", "<a b=1/>", "<a b='<'/>",
        "<a>&nbsp;</a>",
        "<a>&#0;</a>", "<a>&#xD800;</a>", "<a>&</a>", "<a>]]></a>", "<a>\u{1}</a>", "<a p:b='1'/>", "<p:a/>",
        "<!DOCTYPE a><a/>", "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
        "<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>", "<a><!DOCTYPE b></a>", "<a></WnsHeaders></a>",
        "<?xml version='1.0' encoding='utf-16'?><a/>", "<?xml version='1.0'?> <!-- a --><?b c?>\n<!DOCTYPE a><a/>",
        "<!-- > --><!DOCTYPE a><a/>",
        "<a:b:c xmlns:a='x'/>", "<a xmlns:b=''/>", "<a xmlns:b='x' xmlns:c='x' b:d='' c:d=''/>",
        "<a xmlns:b='x' xmlns:b='y'/>", "<a b=''c=''/>", "< a/>",
        "<a/ >", "<1/>", "<a b/>", "<a b='/>", "<a>&#x110000;</a>", "<a>&#;</a>", "<a>&#1a;</a>", "<a>&;</a>",
        "<a>&amp</a>", "<a>&AMP;</a>",
        "<a><?xml?></a>", "<a><?x</a>", "<a><?x y</a>", "<a><? x?></a>", "<a><!-- a -- b --></a>", "<a><!--></a>",
        "<a></a >x", "<a></ a>", "<?xml?><a/>",
        "<?xml version='2.0'?><a/>", "<?xml version='1.0' encoding='iso-8859-1'?><a/>", " <?xml version='1.0'?><a/>",
        "<a>\u{FFFE}</a>", "<a><b></a></b>",
        "<e\u{301}></\u{E9}>", "\u{FEFF}<!DOCTYPE a><a/>", "<!---><!DOCTYPE a><a/>", "<!--->--><!DOCTYPE a><a/>",
        "<??><!DOCTYPE a><a/>",
        "<a\u{0}/>", "<a><![CDATA[</a>", "<a><!-- </a>",
    ])
    func whatIsNotWellFormedOrHasADocumentTypeIsRefused(text: String) {
        #expect(throws: XMLSyntaxError.self) { try XMLReader.read(Array(text.utf8)) }
    }

    /// Only before the root is it one.
    @Test(arguments: [
        "<a><![CDATA[<!DOCTYPE a>]]></a>", "<!-- <!DOCTYPE b> --><a>&lt;!DOCTYPE a></a>",
        "<?c <!DOCTYPE b> ?><a>&lt;!DOCTYPE a></a>",
    ])
    func textThatLooksLikeADocumentTypeIsTaken(text: String) throws {
        #expect(try XMLReader.read(Array(text.utf8)).text == "<!DOCTYPE a>")
    }

    @Test func bytesThatAreNotUTF8AreRefused() {
        #expect(throws: XMLSyntaxError.self) { try XMLReader.read(Array("<a>".utf8) + [0xFF] + Array("</a>".utf8)) }
        // UTF-16 with a byte order mark.
        let wide: [UInt8] = [0xFF, 0xFE] + "<a/>".utf8.flatMap { [$0, 0] }
        #expect(throws: XMLSyntaxError.self) { try XMLReader.read(wide) }
    }

    @Test(arguments: [
        "<?x?><a>t</a>", "<a><?x?>t</a>", "<a>t</a><?x?>", "<a><?x y?>t<!----></a>",
        "\u{FEFF}<?xml version=\"1.0\"?>\n<a >t</a >\n<!-- - -->",
        "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?><a>&#116;</a>", "<a xmlns=''>&#x74;</a>",
        "<a xml:space='preserve'>t</a>",
        "<a><![CDATA[]]>t</a>", "<a\n\tb=''>t</a>",
    ])
    func allThatIsWellFormedIsRead(text: String) throws {
        let tree = try XMLReader.read(Array(text.utf8))
        #expect(tree.name == "a" && tree.text == "t")
    }

    @Test func linesAndColumnsAreCounted() {
        let fault = #expect(throws: XMLSyntaxError.self) { try XMLReader.read(Array("<a>\n <b c='<'/></a>".utf8)) }
        #expect(fault?.line == 2 && fault?.column == 8 && fault?.reason == "< must be written &lt;")
    }

    @Test func lineBreaksAreLineFeedsAndSpacesInAttributes() throws {
        let tree = try XMLReader.read(Array("<a b='x\r\ny\tz&#10;&#13;'>1\r\n2\r3\n4&#13;</a>".utf8))
        #expect(tree.attribute("b") == "x y z\n\r")
        #expect(Array(tree.text.utf8) == Array("1\n2\n3\n4\r".utf8))
    }

    @Test func namesMayHaveLettersOfAnyLanguage() throws {
        let tree = try XMLReader.read(Array("<größe-1.x xmlns:ü='u' ü:名='1'/>".utf8))
        #expect(tree.name == "größe-1.x" && tree.attribute("名") == "1")
    }

    @Test func depthIsBounded() throws {
        func nested(_ depth: Int) -> [UInt8] {
            Array((String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)).utf8)
        }
        _ = try XMLReader.read(nested(XMLReader.maximumDepth))
        let fault = #expect(throws: XMLSyntaxError.self) { try XMLReader.read(nested(XMLReader.maximumDepth + 1)) }
        #expect(fault?.reason.contains("nested") == true)
        #expect(throws: XMLSyntaxError.self) { try XMLReader.read(nested(100_000)) }
    }

    @Test func aTextOfManyPiecesIsReadInLinearTime() throws {
        let start = ContinuousClock.now
        let tree = try XMLReader.read(Array("<a>\(String(repeating: "&amp;", count: 200_000))</a>".utf8))
        #expect(tree.text.utf8.count == 200_000)
        #expect(ContinuousClock.now - start < .seconds(10))
    }

    @Test(arguments: [
        "", "a", " a ", "<b>&amp;\"'", "]]>", "]]", "]]]]>>", "]]>\u{301}", "<![CDATA[x]]>", "\r\n\t", "\u{1}\u{FFFE}",
        "é e\u{301} 👩‍👩‍👧‍👦",
        "</BodyTemplate><Tags>admin</Tags>", "&lt;", "\u{2028}\u{10FFFF}",
    ])
    func anyTextIsReadBackAsItWasWritten(text: String) throws {
        let expected = String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { "\u{1}\u{FFFE}".unicodeScalars.contains($0) ? "\u{FFFD}" : $0 }
            )
        )
        let tree = XMLTree("a", attributes: [.init("b", text)], [.section(text), .element(XMLTree("c", text: text))])
        let read = try XMLReader.read(tree.bytes)
        #expect(Array(read.text.utf8) == Array(expected.utf8))
        #expect(Array((read.attribute("b") ?? "").utf8) == Array(expected.utf8))
        #expect(Array((read.first("c")?.text ?? "").utf8) == Array(expected.utf8))
        #expect(read.elements.count == 1)
    }

    @Test("So many prefixes that copies of them would cost more than the text are refused")
    func prefixes() throws {
        func text(_ count: Int) -> [UInt8] {
            Array("<a \((0..<count).map { "xmlns:p\($0)=\"u\"" }.joined(separator: " "))><b xmlns:q=\"v\"/></a>".utf8)
        }
        #expect(try XMLReader.read(text(60)).elements.count == 1)
        let error = #expect(throws: XMLSyntaxError.self) { try XMLReader.read(text(64)) }
        #expect(error?.reason.contains("prefixes") == true)
    }
}
