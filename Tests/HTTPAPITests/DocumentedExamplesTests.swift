import Foundation
import HTTPTypes
import NIOConcurrencyHelpers
import PushModel
import Store
import Testing
import Undisturbed
import Yams

@testable import HTTPAPI

/// The examples in `docs/api.md` and in the OpenAPI document are what the program takes and answers.
@Suite(.undisturbed) struct DocumentedExamplesTests {
    /// Each route is asked for with curl, and each such line leads to a route.
    @Test func theGuideHasAnExampleOfEveryRoute() async throws {
        let examples = try Self.guide().replacing(/\\\n\s*/, with: "").split(separator: "\n").filter {
            $0.trimmingPrefix(while: \.isWhitespace).hasPrefix("curl ")
        }
        try await Harness.run { api async throws in
            var asked: [String: Set<HTTPRequest.Method>] = [:]
            for line in examples {
                let address = try #require(line.firstMatch(of: /https:\/\/push\.example(\/[^\s"'?]*)/), "\(line)")
                let match = try api.table.match(Self.method(of: line), path: String(address.1))
                asked[match.template, default: []].insert(match.route.method)
            }
            let served = api.table.methods.filter { !$0.key.hasPrefix(Route.appPrefix) }
            for (template, methods) in served { #expect(asked[template] == methods, "\(template)") }
        }
    }

    @Test func examplesMatchTheirSchemas() throws {
        let document = try OpenAPITests.document()
        // A preview's payload is any JSON.
        for name in Self.shown where name != "SendPreview" {
            let schema = try #require(document["components"]?["schemas"]?[name])
            let examples = try #require(schema["examples"]?.sequence, "\(name)")
            for example in examples { try Self.check(example, against: schema, in: document, at: name) }
        }
    }

    /// One of each is made in a running API and asked for.
    @Test func examplesMatchRealAnswers() async throws {
        let answers = NIOLockedValueBox<[String: String]>([:])
        var options = Harness.Options()
        options.hub = .onlyRegisters
        options.spec.apns = AppSpec.APNs {
            $0.authentication = .token(.init(keyFile: "/k", keyID: "K", teamID: "T"))
            $0.topic = "com.example.app"
        }
        options.spec.fcm = AppSpec.FCM { $0.serviceAccountFile = "/f" }
        try await Harness.run(options) { api async throws in
            let found = try await Self.answers(api)
            answers.withLockedValue { $0 = found }
        }
        let document = try OpenAPITests.document()
        let guide = try Self.guide().matches(of: /(?s)```json\n(.*?)```/).compactMap {
            try Yams.compose(yaml: String($0.1))
        }
        let found = answers.withLockedValue { $0 }
        #expect(Set(found.keys) == Set(Self.shown))
        var examples: [Node] = []
        for (name, text) in found {
            let answer = try #require(try Yams.compose(yaml: text))
            let example = try #require(document["components"]?["schemas"]?[name]?["examples"]?.sequence?.first)
            #expect(Self.members(of: example) == Self.members(of: answer), "\(name): \(text)")
            examples.append(example)
            // It has no ids and no times.
            if name == "SendPreview" { #expect(example == answer, "\(text)") }
        }
        // The guide shows some of them, and nothing else.
        #expect(guide.count >= 2)
        for shown in guide { #expect(examples.contains(shown), "the document has another: \(shown)") }
        #expect(try Self.guide().contains("-d '\(Self.previewed)'"))
    }

    // MARK: Real answers

    /// The schemas that have an example.
    private static let shown = ["Job", "Problem", "Delivery", "RegistrationItem", "DeadLetter", "SendPreview"]

    /// What the guide asks a preview of.
    private static let previewed = #"{"to": {"tag": "early-birds"}, "title": "Sale", "body": "begins"}"#

    /// An answer for each of them, as JSON.
    private static func answers(_ api: Harness) async throws -> [String: String] {
        let backend = try await api.key(.operator, name: "shop")
        let (_, dead) = try await DeadLetterTests.dead(api)
        for digits in ["12", "34", "56"] {
            _ = try await api.register(handle: String(repeating: digits, count: 32), tags: #"["early-birds"]"#)
        }
        let send = #"{"to":{"tag":"early-birds"},"title":"Sale","body":"begins","services":["apns"]}"#
        let accepted = try await api.call(.post, "/api/sends", as: backend, body: send)
        let job = try #require(accepted.json["id"]?.text.flatMap(JobID.init))
        try await Self.deliver(job, api: api)
        let refused = try await api.call(.post, "/api/sends", as: backend, body: #"{"to":{"user":""},"body":"x"}"#)
        func first(_ path: String) async throws -> String {
            let list = try await api.call(.get, path, as: backend)
            return String(decoding: try #require(list.json["items"]?.elements.first).bytes, as: UTF8.self)
        }
        return [
            "Job": try await api.call(.get, "/api/jobs/\(job)", as: backend).text,
            "Problem": refused.text,
            "Delivery": try await first("/api/jobs/\(job)/deliveries"),
            "RegistrationItem": try await first("/api/registrations?tag=early-birds"),
            "DeadLetter": try await api.call(.get, dead, as: backend).text,
            "SendPreview": try await api.call(.post, "/api/sends/preview", as: backend, body: Self.previewed).text,
        ]
    }

    /// Fans the send out and sends it: one of its devices is gone.
    private static func deliver(_ job: JobID, api: Harness) async throws {
        let message = try await api.message(in: .send)
        let (rows, _) = try await DeadLetterTests.fanOut(message, api: api)
        let gone = try #require(rows.first)
        let outcome = BatchOutcome(
            key: BatchKey(job: job, pns: .apns, page: 0, attempt: 0),
            accepted: rows.count - 1,
            failures: [DeviceFailure(row: gone, failure: .unregistered, status: 410, reason: "Unregistered")],
            at: .now
        )
        #expect(try await api.store.record([outcome]) == [true])
    }

    // MARK: Reading

    private static func guide() throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: "docs/api.md"), encoding: .utf8)
    }

    /// What curl would ask with.
    private static func method(of line: some StringProtocol) throws -> HTTPRequest.Method {
        let words = line.split(separator: " ")
        if let flag = words.firstIndex(of: "-X") { return try #require(HTTPRequest.Method(String(words[flag + 1]))) }
        if words.contains("-I") { return .head }
        if words.contains("-T") { return .put }
        return words.contains("-d") || words.contains("--data-binary") ? .post : .get
    }

    /// The members, by their paths; those of an array's elements are one.
    private static func members(of node: Node, at path: String = "") -> Set<String> {
        var found: Set<String> = []
        for (name, value) in node.mapping ?? [:] {
            let member = "\(path).\(name.string ?? "")"
            found.formUnion(Self.members(of: value, at: member).union([member]))
        }
        for value in node.sequence ?? [] { found.formUnion(Self.members(of: value, at: path + "[]")) }
        return found
    }

    private static func check(_ value: Node, against schema: Node, in document: Node, at path: String) throws {
        let schema = try #require(OpenAPITests.resolve(schema, in: document), "\(path)")
        if let words = schema["enum"]?.sequence { #expect(words.contains(value), "\(path)") }
        switch schema["type"]?.string {
        case "object":
            let members = try #require(value.mapping, "\(path)")
            let required = schema["required"]?.sequence?.compactMap(\.string) ?? []
            #expect(Set(required).isSubset(of: members.keys.compactMap(\.string)), "\(path)")
            for (name, member) in members {
                let name = try #require(name.string)
                let known = schema["properties"]?[name] ?? schema["additionalProperties"]
                let part = try #require(known, "\(path).\(name) is not in the schema")
                try Self.check(member, against: part, in: document, at: "\(path).\(name)")
            }
        case "array":
            let items = try #require(schema["items"], "\(path)")
            for element in try #require(value.sequence, "\(path)") {
                try Self.check(element, against: items, in: document, at: path + "[]")
            }
        case "string": #expect(value.tag.rawValue == "tag:yaml.org,2002:str", "\(path)")
        case "integer": #expect(value.int != nil, "\(path)")
        case "number": #expect(value.float != nil, "\(path)")
        case "boolean": #expect(value.bool != nil, "\(path)")
        case let other: #expect(other == nil && schema["enum"] != nil, "\(path) is of a kind that nobody checks")
        }
    }
}
