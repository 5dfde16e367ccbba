import PushModel
import SeededRandom

/// Makes inputs out of known ones: deterministic, so that a seed and a number name an input.
struct Mutator: Sendable {
    private var random: SeededGenerator
    private var known: [[UInt8]]
    /// Longer inputs than a server reads prove nothing.
    private let longest: Int
    /// How many inputs there are to begin with, at most.
    private static let most = 500

    /// - Parameters:
    ///   - known: The inputs to begin with; at least one.
    ///   - longest: The longest inputs.
    ///   - seed: Decides everything.
    init(_ known: [[UInt8]], longest: Int, seed: UInt64) {
        self.known = known
        self.longest = longest
        self.random = SeededGenerator(seed: seed)
    }

    /// What parsers of the wire have a meaning for, and what they must not be led astray by.
    private static let words: [[UInt8]] = [
        "<![CDATA[", "]]>", "<!DOCTYPE a [<!ENTITY x \"y\">]>", "&x;", "<!--", "-->", "<?xml version=\"1.0\"?>",
        "<?a?>",
        "&amp;", "&#0;", "&#xD800;", "&#x10FFFF;", "&#9;", " xmlns:i=\"x\"", " i:nil=\"true\"", " i:type=\"", "/>",
        "</", "\r",
        "\r\n", "\u{FEFF}", "e\u{301}", "\u{301}", "\u{0}", "\u{1F}", "👩‍👩‍👧", "\u{2028}", "'", "\"", "''", "\\", "\\u0000",
        "\\ud800", "null", "true", "1e999", "-0", "{", "}", "[", "]", ",", ":", "{}", "[]", "\"op\":\"remove\"", "~0",
        "~1", "/",
        "/tags", "/templates/t/headers", "/pushVariables", "&&", "||", "!", "(", ")", " ", "$", "$InstallationId:{x}",
        "$UserId:{",
        "$(name)", "$(", ".(name, 5)", "%(x)", "#(n)", "#(", "{'", "'}", " + ", ":{", ", 0", "SharedAccessSignature ",
        "sr=", "sig=",
        "se=9999999999999999999", "skn=", "%", "%zz", "%C3%28", "+", "=", ";", "Endpoint=sb://", "eq '", "' eq '",
        "--b", "--b--",
        "Content-Disposition: inline; name=devices", "\r\n\r\n", "9999-12-31T23:59:59.9999999Z", "T", "Z", "+14:00",
        "username:",
        "installation:", "_", "@", "#", ".", "-", "0", "9223372036854775808",
    ].map { Array($0.utf8) }

    /// The next input.
    mutating func next() -> [UInt8] {
        var input = self.pick(self.known)
        repeat { self.change(&input) } while Bool.random(using: &self.random)
        return Array(input.prefix(self.longest))
    }

    /// Begins with this one too: what was read leads further than what was refused.
    mutating func keep(_ input: [UInt8]) {
        guard input.count < 1024 else { return }
        if self.known.count < Self.most { return self.known.append(input) }
        self.known[Int.random(in: 0..<Self.most, using: &self.random)] = input
    }

    private mutating func change(_ input: inout [UInt8]) {
        switch Int.random(in: 0..<20, using: &self.random) {
        case 0...4:
            input.replaceSubrange(
                self.range(of: input, atMost: 1),
                with: [.random(in: .min ... .max, using: &self.random)]
            )
        case 5...7: input.replaceSubrange(self.range(of: input, atMost: 0), with: self.pick(Self.words))
        case 8...11: input.replaceSubrange(self.range(of: input, atMost: 16), with: self.pick(Self.words))
        case 12, 13: input.removeSubrange(self.range(of: input, atMost: 64))
        case 14: input = Array(input.prefix(Int.random(in: 0...input.count, using: &self.random)))
        // A part of it again, elsewhere.
        case 15, 16:
            let part = Array(input[self.range(of: input, atMost: 200)])
            input.replaceSubrange(self.range(of: input, atMost: 0), with: part)
        // A part of another one.
        case 17:
            let other = self.pick(self.known)
            input.replaceSubrange(self.range(of: input, atMost: 32), with: other[self.range(of: other, atMost: 200)])
        // Deep, or long.
        case 18:
            let part = Array(input[self.range(of: input, atMost: 24)])
            let count = self.count(part)
            input.replaceSubrange(
                self.range(of: input, atMost: 0),
                with: [[UInt8]](repeating: part, count: count).joined()
            )
        default:
            let word = self.pick(Self.words)
            let count = self.count(word)
            input.replaceSubrange(
                self.range(of: input, atMost: 0),
                with: [[UInt8]](repeating: word, count: count).joined()
            )
        }
    }

    /// How often a part is to be there; now and then until there is no room for more.
    private mutating func count(_ part: [UInt8]) -> Int {
        let isWhole = Int.random(in: 0..<16, using: &self.random) == 0
        return isWhole ? self.longest / max(1, part.count) : Int.random(in: 2...400, using: &self.random)
    }

    private mutating func range(of input: [UInt8], atMost length: Int) -> Range<Int> {
        let start = Int.random(in: 0...input.count, using: &self.random)
        guard length > 0 else { return start..<start }
        return start..<min(input.count, start + Int.random(in: 1...length, using: &self.random))
    }

    private mutating func pick(_ values: [[UInt8]]) -> [UInt8] { values.randomElement(using: &self.random) ?? [] }
}
