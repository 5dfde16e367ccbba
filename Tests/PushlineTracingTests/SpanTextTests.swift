import Foundation
import PushModel
import Testing
import Tracing

@testable import PushlineTracing

/// The JSON of OTLP, member for member.
@Suite struct SpanTextTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"

    private func span(_ attributes: SpanAttributes, links: [SpanContext], hasFailed: Bool) throws -> FinishedSpan {
        FinishedSpan(
            place: try #require(SpanContext(traceparent: "00-\(Self.trace)-00f067aa0ba902b7-01")),
            parent: SpanID(0xb7),
            name: "POST /api/sends",
            kind: .server,
            start: 1_790_000_000_123_456_789,
            end: .max,
            attributes: attributes,
            links: links,
            hasFailed: hasFailed
        )
    }

    private func json(_ spans: [FinishedSpan]) throws -> String {
        let text = String(decoding: SpanText(service: "pushline-api", version: "1.2").body(of: spans), as: UTF8.self)
        _ = try JSONSerialization.jsonObject(with: Data(text.utf8))
        return text
    }

    @Test func idsAreHexadecimalAndLongNumbersAreTexts() throws {
        let link = try #require(SpanContext(traceparent: "00-\(Self.trace)-00000000000000ff-01"))
        let attributes: SpanAttributes = ["s": "a \"b\"\n", "n": 9_007_199_254_740_993, "b": true, "d": 0.5]
        let text = try self.json([self.span(attributes, links: [link], hasFailed: true)])
        let expected = [
            #"{"traceId":"\#(Self.trace)","spanId":"00f067aa0ba902b7","parentSpanId":"00000000000000b7","flags":1"#,
            #""name":"POST /api/sends","kind":2,"startTimeUnixNano":"1790000000123456789","endTimeUnixNano":"18446744073709551615""#,
            #""attributes":[{"key":"b","value":{"boolValue":true}},{"key":"d","value":{"doubleValue":0.5}}"#,
            #"{"key":"n","value":{"intValue":"9007199254740993"}},{"key":"s","value":{"stringValue":"a \"b\"\n"}}]"#,
            #""links":[{"traceId":"\#(Self.trace)","spanId":"00000000000000ff","flags":1}]"#,
            #""status":{"code":2}}"#,
        ]
        for part in expected { #expect(text.contains(part), "\(part) is not in \(text)") }
    }

    @Test func whatIsNotThereIsLeftOut() throws {
        let text = try self.json([self.span([:], links: [], hasFailed: false)])
        for name in ["attributes\":[]", "links", "status"] { #expect(!text.contains(name)) }
        #expect(
            text.hasPrefix(
                #"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"pushline-api"}}"#
            )
        )
        #expect(text.contains(#""scope":{"name":"pushline","version":"1.2"}"#))
    }

    @Test(arguments: [
        (SpanKind.internal, 1), (.server, 2), (.client, 3), (.producer, 4), (.consumer, 5),
    ])
    func kindsHaveTheirNumbers(kind: SpanKind, number: Int) throws {
        let span = FinishedSpan(
            place: SpanContext(trace: .random(), span: .random(), isSampled: true),
            parent: nil,
            name: "x",
            kind: kind,
            start: 1,
            end: 2,
            attributes: [:],
            links: [],
            hasFailed: false
        )
        let text = try self.json([span])
        #expect(text.contains(#""kind":\#(number),"#) && !text.contains("parentSpanId"))
    }
}
