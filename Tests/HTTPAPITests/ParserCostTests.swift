import Callers
import NIOCore
import PushModel
import Testing
import WorkCost

@testable import HTTPAPI
@testable import WebServing

/// What reading requests costs at those that are dearest to read; the parsers beneath are in `CostTests`.
@Suite("Requests cost what they weigh", .serialized, .timeLimit(.minutes(10))) struct ParserCostTests {
    private static let accent = "\u{301}"

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    private static func send(_ bytes: [UInt8]) throws {
        _ = try SendRoutes.body(JSONReader.read(bytes), caller: .user("alice"), spec: AppSpec())
    }

    private static func senders(_ bytes: [UInt8]) throws {
        let caller = Caller(app: .default, identity: .key("k"), role: .sender)
        _ = try SendRoutes.body(JSONReader.read(bytes), caller: caller, spec: AppSpec())
    }

    static let inputs: [DearInput] = [
        DearInput("a query, many parameters", isTaken: false) {
            DearInput.number($0, by: "&") { "a\($0)=1" }
        } read: { bytes in
            _ = try QueryParameters(Self.text(bytes)).strict(known: ["cursor", "limit"])
        },
        DearInput("a query, escapes") {
            DearInput.fill($0, "%41", between: "label=")
        } read: { bytes in
            _ = try QueryParameters(Self.text(bytes)).strict(known: ["label"])
        },
        DearInput("a query, accents in names", isTaken: false) {
            DearInput.number($0, by: "&") { "a\(String(repeating: "%CC%81", count: 9))\($0)=1" }
        } read: { bytes in
            _ = try QueryParameters(Self.text(bytes)).strict(known: ["cursor", "limit"])
        },
        DearInput("a preference, many") {
            DearInput.number($0) { "a\($0)=1;b" }
        } read: { bytes in
            _ = Preference([Self.text(bytes)])
        },
        DearInput("a send, unknown members", isTaken: false) {
            DearInput.number($0, between: "{", and: "}") { "\"é\($0)\":0" }
        } read: {
            try Self.send($0)
        },
        DearInput("a send, an unknown member with accents", isTaken: false) {
            DearInput.fill($0, Self.accent, between: "{\"a", and: "\":0}")
        } read: {
            try Self.send($0)
        },
        DearInput("a send, members given twice", isTaken: false) {
            DearInput.fill($0, ",\"to\":0", between: "{\"to\":0", and: "}")
        } read: {
            try Self.send($0)
        },
        DearInput("a send, many users") {
            DearInput.number(min($0, 200_000), between: "{\"body\":\"b\",\"to\":{\"users\":[", and: "]}}") {
                "\"u\($0)\""
            }
        } read: {
            try Self.send($0)
        },
        DearInput("a send, users that are none", isTaken: false) {
            DearInput.fill($0, "\"\",", between: "{\"body\":\"b\",\"to\":{\"users\":[", and: "0]}}")
        } read: {
            try Self.send($0)
        },
        DearInput("a send, an expression", isTaken: false) {
            DearInput.fill($0, "(a||b)&&", between: "{\"body\":\"b\",\"to\":{\"tags\":\"", and: "c\"}}")
        } read: {
            try Self.senders($0)
        },
        DearInput("a send, blanks in an expression") {
            DearInput.fill($0, " ", between: "{\"body\":\"b\",\"to\":{\"tags\":\"", and: "c\"}}")
        } read: {
            try Self.senders($0)
        },
        DearInput("a send, many data", isTaken: false) {
            DearInput.number($0, between: "{\"to\":{\"user\":\"u\"},\"body\":\"b\",\"data\":{", and: "}}") {
                "\"m\($0)\":\"\""
            }
        } read: {
            try Self.send($0)
        },
        DearInput("a send, data with accents", isTaken: false) {
            DearInput.number($0, between: "{\"to\":{\"user\":\"u\"},\"body\":\"b\",\"data\":{", and: "}}") {
                "\"a\(String(repeating: Self.accent, count: 9))\($0)\":\"\""
            }
        } read: {
            try Self.send($0)
        },
        DearInput("a send, a title of accents", isTaken: false) {
            DearInput.fill(
                $0,
                Self.accent,
                between: "{\"to\":{\"user\":\"u\"},\"body\":\"b\",\"title\":\"a",
                and: "\"}"
            )
        } read: {
            try Self.send($0)
        },
        DearInput("a send, a label of accents", isTaken: false) {
            DearInput.fill(
                $0,
                Self.accent,
                between: "{\"to\":{\"user\":\"u\"},\"body\":\"b\",\"label\":\"a",
                and: "\"}"
            )
        } read: {
            try Self.send($0)
        },
        DearInput("a send, a deep native form", isTaken: false) {
            DearInput.fill($0, "{\"a\":", between: "{\"to\":{\"tag\":\"t\"},\"native\":{\"apns\":")
        } read: {
            try Self.senders($0)
        },
        DearInput("a send, many handles", isTaken: false) {
            DearInput.fill(
                $0,
                "{\"service\":\"apns\",\"handle\":\"é\"},",
                between: "{\"body\":\"b\",\"to\":{\"handles\":[",
                and: "0]}}"
            )
        } read: {
            try Self.senders($0)
        },
        DearInput("a classic body, many members") {
            DearInput.number($0, between: "{", and: "}") { "\"M\($0)\":0" }
        } read: { bytes in
            _ = try TolerantMembers(JSONReader.read(bytes))
        },
        DearInput("lines, empty") {
            DearInput.fill($0, "\n")
        } read: { bytes in
            var splitter = LineSplitter(limit: 1 << 16)
            splitter.split(ByteBuffer(bytes: bytes)) { _ in }
        },
        DearInput("a line in small pieces") {
            DearInput.fill($0, "a")
        } read: { bytes in
            var splitter = LineSplitter(limit: 1 << 20)
            var rest = bytes[...]
            while !rest.isEmpty {
                splitter.split(ByteBuffer(bytes: rest.prefix(16))) { _ in }
                rest = rest.dropFirst(16)
            }
        },
        DearInput("a line of an import, many tags", isTaken: false) {
            DearInput.number($0, between: "{\"service\":\"apns\",\"handle\":\"aa\",\"tags\":[", and: "]}") {
                "\"t\($0)\""
            }
        } read: { bytes in
            _ = try ImportLine(spec: AppSpec()).registration(bytes)
        },
        DearInput("a line of an import, a template") {
            DearInput.fill(
                min($0, 14_000),
                ".(a,1)+",
                between:
                    "{\"service\":\"apns\",\"handle\":\"\(String(repeating: "ab", count: 32))\",\"template\":{\"body\":\"{\\\"aps\\\":{\\\"alert\\\":\\\"{",
                and: "'x'}\\\"}}\"}}"
            )
        } read: { bytes in
            _ = try ImportLine(spec: AppSpec()).registration(bytes)
        },
    ]

    @Test(arguments: inputs) func reading(input: DearInput) {
        let cost = input.cost(size: 32 << 10)
        #expect(cost.passes <= WorkCost.mostPasses, "\(input): \(cost.passes) passes")
        #expect(cost.growth <= WorkCost.mostGrowth, "\(input): twice the input costs \(cost.growth) times as much")
        #expect(cost.wasTaken == input.isTaken, "\(input) is read otherwise than it was made for")
        print("cost: \(input): \(Int(cost.passes * 10)) tenths of a pass, growth \(Int(cost.growth * 100)) %")
    }
}
