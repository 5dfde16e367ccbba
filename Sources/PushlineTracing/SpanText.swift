import Foundation
import PushModel
import Tracing

/// Spans as OTLP has them in JSON: ids in hexadecimal digits, 64-bit numbers as texts, kinds and codes as numbers.
///
/// Source: OpenTelemetry Protocol 1.3, "JSON Protobuf Encoding"; opentelemetry/proto/trace/v1/trace.proto.
struct SpanText: Sendable {
    /// What is said of the process: its `resource`.
    private let resource: JSONValue
    private let scope: JSONValue

    /// - Parameters:
    ///   - service: The service's name.
    ///   - version: The program's.
    init(service: String, version: String) {
        let attributes: KeyValuePairs<String, SpanAttribute> = [
            "service.name": .string(service), "service.version": .string(version),
            // No two processes have the same.
            "service.instance.id": .string(JobID.make().description), "process.pid": .int64(Int64(getpid())),
        ]
        self.resource = .object([.init("attributes", .array(attributes.map { Self.attribute($0.key, $0.value) }))])
        self.scope = .object([.init("name", .string("pushline")), .init("version", .string(version))])
    }

    /// The body of a request to a collector.
    func body(of spans: [FinishedSpan]) -> [UInt8] {
        let scoped = JSONValue.object([
            .init("scope", self.scope), .init("spans", .array(spans.map(Self.object))),
        ])
        let whole = JSONValue.object([.init("resource", self.resource), .init("scopeSpans", .array([scoped]))])
        return JSONValue.object([.init("resourceSpans", .array([whole]))]).bytes
    }

    private static func object(_ span: FinishedSpan) -> JSONValue {
        var attributes: [(String, SpanAttribute)] = []
        span.attributes.forEach { attributes.append(($0, $1)) }
        let values = attributes.sorted { $0.0 < $1.0 }.map { Self.attribute($0, $1) }
        return .members([
            "traceId": .string("\(span.place.trace)"),
            "spanId": .string("\(span.place.span)"),
            "parentSpanId": span.parent.map { .string("\($0)") },
            "flags": .integer(1),
            "name": .string(span.name),
            "kind": .integer(self.number(of: span.kind)),
            "startTimeUnixNano": .string("\(span.start)"),
            "endTimeUnixNano": .string("\(span.end)"),
            "attributes": values.isEmpty ? nil : .array(values),
            "links": span.links.isEmpty ? nil : .array(span.links.map(self.link)),
            "status": span.hasFailed ? .members(["code": .integer(self.failed)]) : nil,
        ])
    }

    private static func link(to span: SpanContext) -> JSONValue {
        .members([
            "traceId": .string("\(span.trace)"), "spanId": .string("\(span.span)"),
            "flags": .integer(span.isSampled ? 1 : 0),
        ])
    }

    /// The code of a status: the work of the span failed.
    private static let failed = 2

    private static func number(of kind: SpanKind) -> Int {
        switch kind {
        case .internal: 1
        case .server: 2
        case .client: 3
        case .producer: 4
        case .consumer: 5
        }
    }

    private static func attribute(_ name: String, _ value: SpanAttribute) -> JSONValue {
        .object([.init("key", .string(name)), .init("value", .object([self.member(value)]))])
    }

    private static func member(_ value: SpanAttribute) -> JSONValue.Member {
        switch value {
        case .int32(let number): .init("intValue", .string("\(number)"))
        case .int64(let number): .init("intValue", .string("\(number)"))
        case .double(let number) where number.isFinite: .init("doubleValue", .number("\(number)"))
        case .bool(let flag): .init("boolValue", .bool(flag))
        case .string(let text): .init("stringValue", .string(text))
        // None of ours is a list.
        default: .init("stringValue", .string("\(value)"))
        }
    }
}
