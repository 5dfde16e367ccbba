import Foundation
import PushModel
import StoreKit
import Testing

/// What of a user is in jobs, and the jobs without it.
@Suite struct UserTracesTests {
    private static let user = "ann"

    private func traces(_ name: String = Self.user) throws -> UserTraces { try UserTraces(UserName(name, .folded)) }

    private func send(_ text: String, truncated: Int = 0) throws -> SendRequest {
        SendRequest(
            to: .tags(try TagExpression(parsing: text, .folded)),
            truncatedTags: truncated,
            content: .message(.init(body: "b")),
            collapse: "c"
        )
    }

    @Test(arguments: [
        ("username:ann", true), ("username:Ann", true), ("username:ann && ios", true),
        ("username:ann || from:bob", true),
        ("username:ann || username:bob", false), ("username:bob || from:ann", false), ("!username:ann", false),
        ("username:ann || news", false), ("(username:ann || from:ann) && !news", true), ("news", false),
        ("!(news || !username:ann)", true), ("username:anna", false),
    ])
    func aSendReachesNobodyElse(text: String, isOnly: Bool) throws {
        #expect(try self.traces().isOnlyAudience(of: self.send(text)) == isOnly)
    }

    @Test func aLongListIsForOthersToo() throws {
        #expect(try !self.traces().isOnlyAudience(of: self.send("username:ann", truncated: 3)))
    }

    @Test(arguments: [
        ("username:ann", "username:"), ("username:ann || username:bob", "username: || username:bob"),
        ("!(username:ann && from:ann) || news", "!(username: && from:) || news"),
    ])
    func theNameGoesFromAnExpression(text: String, left: String) throws {
        let removed = try #require(try self.traces().removed(from: self.send(text, truncated: 2)))
        guard case .tags(let expression) = removed.audience else { throw InvalidValue("no expression") }
        #expect(expression.description == left)
        #expect(try TagExpression(parsing: left, .exact) == expression)
        #expect(removed.truncatedTags == 2 && removed.content == .message(.init(body: "b")))
        // The text that is stored can be read again.
        let work = Job.Work.send(removed)
        #expect(try StoredJSON.work(from: Array(StoredJSON.text(work: work).utf8)) == work)
    }

    @Test func theNameGoesFromASendToAHub() throws {
        let expression = try TagExpression(parsing: "username:ann || username:bob", .folded)
        let send = SendRequest(to: .hub(expression, calls: 3), content: .message(.init(body: "b")))
        let removed = try #require(try self.traces().removed(from: send))
        let left = try TagExpression(parsing: "username: || username:bob", .exact)
        #expect(removed.audience == .hub(left, calls: 3))
        #expect(try !self.traces().isOnlyAudience(of: send))
        let work = Job.Work.send(removed)
        #expect(try StoredJSON.work(from: Array(StoredJSON.text(work: work).utf8)) == work)
    }

    @Test func whatDoesNotNameTheUserStays() throws {
        for text in ["username:anna", "ann", "news && !beta"] {
            #expect(try self.traces().removed(from: self.send(text)) == nil)
        }
        #expect(try self.traces().removed(fromLines: "username:anna\nann\nusername:bob") == nil)
    }

    @Test func theNameGoesFromALongList() throws {
        let lines = "username:anna\nusername:ann\nusername:bob"
        #expect(try self.traces().removed(fromLines: lines) == "username:anna\nusername:\nusername:bob")
    }

    @Test func anEmptiedSendSaysNothing() throws {
        let empty = try self.send("news").emptied
        #expect(empty.content == .message(.init()) && empty.collapse == nil)
    }

    @Test func theSubjectIsWhoseDeviceItIs() throws {
        let (ann, bob) = (try UserName("ann", .folded), try UserName("bob", .folded))
        func upsert(_ user: UserName?) -> RegisterRequest {
            .upsert(.random(), .init(pns: .apns, handle: Handle(stored: "aa"), tags: [], onBehalf: .init(of: user)))
        }
        #expect(UserTraces.subject(of: upsert(bob), askedBy: ann) == bob)
        #expect(UserTraces.subject(of: upsert(nil), askedBy: ann) == nil)
        #expect(UserTraces.subject(of: .delete(.random()), askedBy: ann) == ann)
        #expect(UserTraces.subject(of: .removeUser(bob, withAccount: true), askedBy: ann) == nil)
        #expect(UserTraces.subject(of: .channel(ChannelRequest(.create(.nothing))), askedBy: ann) == nil)
        #expect(try self.traces().isNamed(by: .removeUser(ann, withAccount: false)))
        #expect(try !self.traces().isNamed(by: upsert(bob)))
    }

    /// The patterns only choose what is decoded: what they miss would keep the name.
    @Test func everyNameIsInThePatterns() throws {
        let user = try UserName("ann", .folded)
        let upsert = RegisterRequest.Upsert(
            pns: .apns,
            handle: Handle(stored: "a"),
            tags: [],
            onBehalf: .init(of: user)
        )
        let works: [Job.Work] = [
            .send(try self.send("username:ann")), .send(try self.send("username:ann && x || from:ann")),
            .register(.upsert(.random(), upsert)), .register(.create(candidate: .random(), upsert)),
            .register(.removeUser(user, withAccount: true)),
        ]
        for work in works {
            let text = try StoredJSON.text(work: work)
            #expect(try self.traces().patterns.contains { text.contains($0) }, "\(text)")
        }
    }

    /// JSON may escape a slash, and any character; the texts are looked for in rows before these are read.
    @Test(arguments: ["ann", "a|b", "a\"b", "\"", "a\\b", "a/b", "/", "🐙ann", "ann🐙", "a'b", "é", "a&b<c>"])
    func aNameIsFoundHoweverJSONEscapesIt(name: String) throws {
        let traces = try self.traces(name)
        let user = try UserName(name, .folded)
        let upsert = RegisterRequest.Upsert(pns: .fcm, handle: Handle(stored: "h"), tags: [], onBehalf: .init(of: user))
        let other = try Tag("news", .folded)
        for work in [
            Job.Work.send(SendRequest(to: .tags(.tag(Tag(user: user))), content: .message(.init(body: "b")))),
            .send(SendRequest(to: .tags(.any([other, Tag(user: user)])), content: .message(.init(body: "b")))),
            .register(.upsert(.random(), upsert)), .register(.removeUser(user, withAccount: true)),
        ] {
            let escaping = JSONEncoder()
            escaping.outputFormatting = .sortedKeys
            let escaped = String(decoding: try escaping.encode(work), as: UTF8.self)
            let ascii = escaped.unicodeScalars.map { scalar in
                scalar.isASCII
                    ? String(scalar)
                    : scalar.utf16.map { "\\u" + String(Int($0) + 0x10000, radix: 16).dropFirst() }.joined()
            }.joined()
            for text in [try StoredJSON.text(work: work), try StoredJSON.text(work), escaped, ascii] {
                #expect(traces.patterns.contains { text.contains($0) }, "\(text)")
                #expect(try StoredJSON.work(from: Array(text.utf8)) == work)
            }
        }
        let lines = "username:bob\n\(Tag(user: user))\nnews"
        #expect(traces.removed(fromLines: lines) == "username:bob\nusername:\nnews")
        #expect(traces.removed(fromLines: "username:bob\nnews") == nil)
    }
}
