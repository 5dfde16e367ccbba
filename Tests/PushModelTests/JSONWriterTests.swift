import PushModel
import Testing

@Suite struct JSONWriterTests {
    @Test func theWriterMatchesJSONValue() throws {
        let time = Timestamp(milliseconds: 1_763_714_096_007)
        let bytes = JSONWriter.object { members in
            members.add("text", "a \"b\" \\ \u{1} ü\n")
            members.add("no text", String?.none)
            members.add("none", Int?.none)
            for number in [0, 9, 10, -1, .max, .min] { members.add("n", number) }
            members.add("yes", true)
            members.add("no", false)
            members.add("time", time)
            members.add("no time", Timestamp?.none)
            members.add("empty") { _ in }
            members.add("inner") { inner in
                inner.add("first", 1)
                inner.add("deeper") { $0.add("last", "x") }
                inner.add("second", 2)
            }
            members.add("value", .strings(["a", "b"]))
            members.addArray("elements") { for text in ["a", "\n"] { $0.append(text) } }
            members.addArray("none") { _ in }
            members.add("last", 1)
        }
        let value = JSONValue.members([
            "text": .string("a \"b\" \\ \u{1} ü\n"),
            "n": .integer(0),
            "n": .integer(9),
            "n": .integer(10),
            "n": .integer(-1),
            "n": .integer(Int.max),
            "n": .integer(Int.min),
            "yes": .bool(true),
            "no": .bool(false),
            "time": .string(time.iso8601),
            "empty": .object([]),
            "inner": .members([
                "first": .integer(1),
                "deeper": .members(["last": .string("x")]),
                "second": .integer(2),
            ]),
            "value": .strings(["a", "b"]),
            "elements": .strings(["a", "\n"]),
            "none": .array([]),
            "last": .integer(1),
        ])
        #expect(String(decoding: bytes, as: UTF8.self) == String(decoding: value.bytes, as: UTF8.self))
        #expect(JSONValue.array([.written(bytes), .null]).bytes == Array("[".utf8) + bytes + Array(",null]".utf8))
    }

    @Test func anObjectWithoutMembersIsWritten() { #expect(JSONWriter.object { _ in } == Array("{}".utf8)) }

    @Test func memberNamesAreEscaped() {
        #expect(JSONValue.texts(["b\"": "1", "a": "\\"]).compactText == #"{"a":"\\","b\"":"1"}"#)
    }

    @Test func indented() {
        let value = JSONValue.members([
            "b": .string("\"\n"), "a": .array([.integer(1), .members(["c": .null])]), "none": nil,
            "empty": .object([]), "no elements": .array([]),
        ])
        let text = #"""
            {
              "b": "\"\n",
              "a": [
                1,
                {
                  "c": null
                }
              ],
              "empty": {},
              "no elements": []
            }
            """#
        #expect(value.indentedText == text)
    }
}
