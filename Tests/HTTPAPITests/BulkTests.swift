import Authentication
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOConcurrencyHelpers
import NIOCore
import PushModel
import Settings
import Store
import Testing
import Undisturbed

@testable import HTTPAPI
@testable import WebServing

@Suite(.undisturbed) struct BulkTests {
    private static let path = "/api/registrations/import"
    private static let token = String(repeating: "ab", count: 32)

    private func bring(_ body: String, to api: Harness, app: String? = nil) async throws -> Harness.Answer {
        let path = app.map { "/api/apps/\($0)/registrations/import" } ?? Self.path
        return try await api.call(
            .post,
            path,
            as: app == nil ? .user("root") : .bearer("plk_other"),
            body: body,
            headers: ["Content-Type": "application/x-ndjson"]
        )
    }

    @Test func onlyOperatorsMayImportAndExport() async throws {
        try await Harness.run { api async throws in
            for (caller, status) in [
                (Harness.As.nobody, 401), (.user("alice"), 403), (.user("desk"), 403),
                (try await api.key(.sender), 403),
                (try await api.key(.operator, name: "boss"), 200),
            ] {
                #expect(try await api.call(.post, Self.path, as: caller, body: "").status == status)
                #expect(try await api.call(.get, "/api/registrations/export", as: caller).status == status)
            }
        }
    }

    @Test func linesAreImported() async throws {
        try await Harness.run { api async throws in
            let body = """
                {"service":"apns","handle":"\(Self.token.uppercased())","user":"alice","tags":["news","vip-gold"],"id":"kept"}\r

                {"handle":"fcm-1","service":"fcm","tags":["username:bob","a"]}
                {"service":"fcm","handle":"fcm-2","expires":"2999-01-01T00:00:00Z"}
                """
            let answer = try await self.bring(body, to: api)
            #expect(answer.status == 200)
            #expect(
                answer.text == #"{"lines":4,"created":3,"updated":0,"superseded":0,"failed":0,"errors":[]}"#
            )
            let id = try #require(RegistrationID("kept"))
            let kept = try #require(try await api.store.registration(id, app: .default))
            #expect(kept.handle?.text == Self.token)
            #expect(kept.tags.map(\.name) == ["news", "username:alice", "vip-gold"])
            let all = try await api.store.registrations(RegistrationQuery(app: .default)).items
            #expect(all.first { $0.handle?.text == "fcm-1" }?.user?.name == "bob")
            #expect(all.first { $0.handle?.text == "fcm-2" }?.expires?.iso8601 == "2999-01-01T00:00:00.000Z")
            let again = try await self.bring(body, to: api)
            #expect(again.json["updated"]?.number == 3)
            // The app's own way to its registration is as ever.
            let put = try await api.call(
                .put,
                "/api/register/kept",
                body: #"{"Platform":"apns","Handle":"\#(Self.token)","Tags":[]}"#
            )
            #expect(put.status == 200)
        }
    }

    @Test(arguments: [
        ("nonsense", "", "not JSON"), ("[]", "", "must be an object"),
        (#"{"service":"apns"}"#, "handle", "is required"),
        (#"{"handle":"aa"}"#, "service", "is required"),
        (#"{"service":"adm","handle":"aa"}"#, "service", "is not a push service"),
        (#"{"service":"apns","handle":"xyz"}"#, "handle", "hexadecimal"),
        (#"{"service":"wns","handle":"https://evil.example/x"}"#, "handle", "notify.windows.com"),
        (#"{"service":"fcm","handle":"a b"}"#, "handle", "visible"),
        (#"{"service":"fcm","handle":7}"#, "handle", "a string"),
        (#"{"service":"fcm","handle":"h","id":"a/b"}"#, "id", "letters"),
        (#"{"service":"fcm","handle":"h","user":"a\nb"}"#, "user", "control characters"),
        (#"{"service":"fcm","handle":"h","tags":"x"}"#, "tags", "an array"),
        (#"{"service":"fcm","handle":"h","template":[]}"#, "template", "an object"),
        (#"{"service":"fcm","handle":"h","template":{}}"#, "template.body", "is required"),
        (#"{"service":"fcm","handle":"h","template":{"body":"{"}}"#, "template.body", "JSON"),
        (
            #"{"service":"fcm","handle":"h","template":{"body":"{}","headers":{"x":"y"}}}"#, "template.headers.x",
            "no headers"
        ),
        (#"{"service":"fcm","handle":"h","template":{"body":"{}","tags":[]}}"#, "template.tags", "no such member"),
        (#"{"service":"apns","handle":"aa","template":{"body":"{}","expiry":"$("}}"#, "template.expiry", "expression"),
        (#"{"service":"gcm","handle":"h"}"#, "service", "use apns, fcm, wns, mpns or web"),
        (#"{"pns":"fcm","handle":"h"}"#, "pns", "did you mean service?"),
        (#"{"service":"fcm","handle":"h","hubPlatform":"fcmv1"}"#, "hubPlatform", "must be gcm"),
        (#"{"service":"apns","handle":"aa","hubPlatform":"gcm"}"#, "hubPlatform", "leave it out"),
        (#"{"service":"fcm","handle":"h","tags":["ok","a||b"]}"#, "tags[1]", "made of"),
        (
            #"{"service":"fcm","handle":"h","user":"ann","tags":["username:bob"]}"#, "tags[0]",
            "other than the registration's"
        ),
        (
            #"{"service":"fcm","handle":"h","tags":["username:a","username:b"]}"#, "tags[1]",
            "other than the registration's"
        ),
        (
            #"{"service":"fcm","handle":"h","user":"b","tags":["UserName:a"]}"#, "tags[0]",
            "other than the registration's"
        ),
        (
            #"{"service":"fcm","handle":"h","user":"ann","tags":["a","from:bob"]}"#, "tags[1]",
            "other than the registration's"
        ),
        (
            #"{"service":"fcm","handle":"h","user":"ann","tags":["FROM:bob"]}"#, "tags[0]",
            "other than the registration's"
        ),
        (#"{"service":"fcm","handle":"h","tags":["from:bob"]}"#, "tags[0]", "other than the registration's"),
        (
            #"{"service":"fcm","handle":"h","tags":["from:bob","username:ann"]}"#, "tags[0]",
            "other than the registration's"
        ),
        (#"{"service":"fcm","handle":"h","expires":"soon"}"#, "expires", "time"),
        (#"{"service":"fcm","handle":"h","expires":"2001-01-01T00:00:00Z"}"#, "expires", "over"),
        (#"{"service":"fcm","handle":"h","tag":["x"]}"#, "tag", "no such member"),
        (#"{"service":"fcm","handle":"h","service":"apns"}"#, "service", "given twice"),
        (#"{"service":"fcm","handle":"h"} {}"#, "", "nothing may follow"),
        (String(repeating: " ", count: 800_000) + "{}", "", "more than 786432 bytes"),
        (String(repeating: "[", count: 60_000), "", "deeper"),
    ])
    func aBadLineIsReportedAndTheOthersAreImported(line: String, member: String, reason: String) async throws {
        try await Harness.run { api async throws in
            let body = "{\"service\":\"fcm\",\"handle\":\"one\"}\n\(line)\n{\"service\":\"fcm\",\"handle\":\"three\"}\n"
            let answer = try await self.bring(body, to: api)
            #expect(answer.status == 200)
            #expect(answer.json["created"]?.number == 2)
            #expect(answer.json["failed"]?.number == 1)
            #expect(answer.json["lines"]?.number == 3)
            let fault = try #require(answer.json["errors"]?.elements.first)
            #expect(fault["line"]?.number == 2)
            #expect(fault["member"]?.text == member)
            #expect(fault["reason"]?.text?.contains(reason) == true, "\(fault["reason"]?.text ?? "")")
        }
    }

    /// What one exports can be imported again, one's own tags of every meaning included.
    @Test func ownedTagsAreImportedAndExported() async throws {
        try await Harness.run { api async throws in
            let owned = PushModel.Tag.Owned.allCases
            let tags = owned.map { "\"\($0.rawValue)ann\"" }.reversed().joined(separator: ",")
            let answer = try await self.bring(#"{"service":"fcm","handle":"h","tags":[\#(tags)]}"#, to: api)
            #expect(answer.json["created"]?.number == 1)
            let stored = try await api.store.registrations(RegistrationQuery(app: .default)).items
            #expect(stored.map(\.user?.name) == ["ann"])
            let ann = try UserName("ann", .folded)
            #expect(stored.first?.tags == owned.compactMap { PushModel.Tag($0, of: ann) }.sorted())
            let export = try await api.call(.get, "/api/registrations/export", as: .user("root"))
            #expect(try await self.bring(export.text, to: api).json["updated"]?.number == 1)
        }
    }

    @Test func allBadLinesAreCountedAndTheFirstAreListed() async throws {
        try await Harness.run { api async throws in
            let id = try await api.register()
            _ = try await api.call(.delete, "/api/registrations/\(id)", as: .user("root"))
            let gone = #"{"service":"fcm","handle":"h","id":"\#(id)"}"#
            let answer = try await self.bring(gone + String(repeating: "\nx", count: 500), to: api)
            #expect(answer.json["failed"]?.number == 501)
            let errors = answer.json["errors"]?.elements ?? []
            #expect(errors.map { $0["line"]?.number } == (1...100).map(Double.init))
            #expect(errors.first?["reason"]?.text?.contains("deleted") == true)
        }
    }

    @Test func aBodyOfAnotherMediaTypeIs415() async throws {
        try await Harness.run { api async throws in
            let answer = try await api.call(
                .post,
                Self.path,
                as: .user("root"),
                body: "[]",
                headers: ["Content-Type": "application/json"]
            )
            #expect(answer.status == 415)
            #expect(answer.headers[.acceptPost] == "application/x-ndjson")
        }
    }

    @Test func bulkRequestsBeyondTheLimitAreRefused() async throws {
        var options = Harness.Options()
        options.configuration.bulkRequests = 1
        try await Harness.run(options) { api async throws in
            // A permit is released: these come one after the other.
            for _ in 0..<3 {
                #expect(try await self.bring("", to: api).status == 200)
                #expect(try await api.call(.get, "/api/registrations/export", as: .user("root")).status == 200)
                #expect(try await api.call(.head, "/api/registrations/export", as: .user("root")).status == 200)
            }
        }
        options.configuration.bulkRequests = 0
        try await Harness.run(options) { api async throws in
            let answer = try await self.bring("", to: api)
            #expect(answer.status == 503)
            #expect(answer.headers[.retryAfter] == "5")
        }
    }

    /// What export writes, import takes: to the byte, whatever is in it.
    @Test func anExportCanBeImportedUnchanged() async throws {
        try await Harness.run { api async throws in
            let other = try AppID("other")
            let secret = try #require(APIKeySecret("plk_other"))
            try await api.store.apply(
                .key(
                    .add(
                        APIKey(app: other, name: "boss", role: .operator, created: .now, revoked: nil),
                        hash: secret.hash
                    )
                )
            )
            let rows = [
                ImportedRegistration(pns: .apns, handle: Handle(stored: Self.token)),
                ImportedRegistration(
                    id: RegistrationID("A~b.c_d-1"),
                    pns: .fcm,
                    handle: Handle(stored: #"a"b\c{}[],:'<>&%\u0000"#),
                    user: try UserName("_@#.:-", .folded),
                    tags: try ["z", "_@#.:-", "username", "usernames:x"].map { try Tag($0, .folded) },
                    expires: Timestamp(milliseconds: 32_503_680_000_123),
                    platform: "gcm"
                ),
                ImportedRegistration(
                    pns: .wns,
                    handle: Handle(stored: "https://a.notify.windows.com/?token=%2b&x=1#y"),
                    user: try UserName(String(repeating: "u", count: 111), .folded),
                    tags: try (0..<60).map { try Tag("\($0)" + String(repeating: "t", count: 118), .folded) }
                ),
                ImportedRegistration(pns: .mpns, handle: Handle(stored: "http://x.notify.live.net/a")),
            ]
            let results = try await api.store.importRegistrations(rows, app: .default, sequence: nil, lifetime: nil)
                .results
            #expect(results.allSatisfy { $0 == .created })
            let first = try await api.call(.get, "/api/registrations/export", as: .user("root"))
            #expect(first.status == 200)
            #expect(first.headers[.contentType] == "application/x-ndjson")
            #expect(first.text.split(separator: "\n").count == 4)
            let brought = try await self.bring(first.text, to: api, app: "other")
            #expect(brought.json["created"]?.number == 4, "\(brought.text)")
            let second = try await api.call(
                .get,
                "/api/apps/other/registrations/export",
                as: .bearer("plk_other")
            )
            #expect(
                Set(second.text.split(separator: "\n")) == Set(first.text.split(separator: "\n"))
            )
            let found = try await api.store.registration(#require(RegistrationID("A~b.c_d-1")), app: other)
            #expect(found?.handle == rows[1].handle)
            #expect(found?.expires == rows[1].expires && found?.written == WrittenDevice(platform: "gcm"))
        }
    }

    @Test func anExportIsFilteredAndPaged() async throws {
        try await Harness.run { api async throws in
            let rows = try (0..<2500).map { number in
                ImportedRegistration(
                    pns: number.isMultiple(of: 5) ? .fcm : .apns,
                    handle: Handle(stored: "h\(number)"),
                    user: try UserName("u\(number % 2)", .folded),
                    tags: [try Tag("t\(number % 3)", .folded)]
                )
            }
            _ = try await api.store.importRegistrations(rows, app: .default, sequence: nil, lifetime: nil)
            func lines(_ query: String) async throws -> (count: Int, cursor: String?) {
                let answer = try await api.call(.get, "/api/registrations/export\(query)", as: .user("root"))
                #expect(answer.status == 200)
                return (answer.text.split(separator: "\n").count, answer.headers[.cursor])
            }
            #expect(try await lines("").count == 2500)
            #expect(try await lines("?service=fcm").count == 500)
            #expect(try await lines("?tag=t1").count == 833)
            #expect(try await lines("?user=u1&service=apns").count == 1000)
            #expect(try await lines("?tag=none").count == 0)
            let first = try await lines("?limit=2001")
            #expect(first.count == 2001)
            let rest = try await lines("?limit=2001&cursor=\(try #require(first.cursor))")
            #expect(rest.count == 499)
            #expect(rest.cursor == nil)
            // Just as many as there are, and as many as one reading gives: nothing comes after them.
            #expect(try await lines("?limit=2500").cursor == nil)
            #expect(try await lines("?user=u1&service=apns&limit=1000").cursor == nil)
            #expect(try await lines("?limit=2499").cursor != nil)
            for query in ["?state=live", "?limit=10001", "?limit=0", "?cursor=x", "?service=x"] {
                #expect(try await api.call(.get, "/api/registrations/export\(query)", as: .user("root")).status == 400)
            }
        }
    }

    @Test func onlyLiveRegistrationsAreExported() async throws {
        try await Harness.run { api async throws in
            let id = try await api.register()
            _ = try await api.register(handle: String(repeating: "cd", count: 32))
            _ = try await api.call(.delete, "/api/registrations/\(id)", as: .user("root"))
            let over = ImportedRegistration(
                pns: .fcm,
                handle: Handle(stored: "over"),
                expires: Timestamp.now.advanced(by: .seconds(-1))
            )
            _ = try await api.store.importRegistrations([over], app: .default, sequence: nil, lifetime: nil)
            let answer = try await api.call(.get, "/api/registrations/export", as: .user("root"))
            #expect(answer.text.split(separator: "\n").count == 1)
            #expect(answer.text.contains("cdcd"))
        }
    }

    @Test func twentyThousandLinesOverARealConnection() async throws {
        var options = Harness.Options()
        options.setup = .live
        try await Harness.run(options) { api async throws in
            let body = (0..<20_000).map { #"{"service":"fcm","handle":"h\#($0)","user":"u\#($0)","tags":["all"]}"# }
                .joined(separator: "\n")
            let answer = try await self.bring(body, to: api)
            #expect(
                answer.text == #"{"lines":20000,"created":20000,"updated":0,"superseded":0,"failed":0,"errors":[]}"#
            )
            let exported = try await api.call(.get, "/api/registrations/export", as: .user("root"))
            #expect(exported.text.split(separator: "\n").count == 20_000)
        }
    }

    // MARK: What goes wrong in the middle

    /// Takes groups until it is to fail, and counts what it took.
    private final class FailingStore: RegistrationStore {
        let taken = NIOLockedValueBox<[Int]>([])
        let groups: Int

        init(groups: Int) { self.groups = groups }

        func importRegistrations(
            _ rows: [ImportedRegistration],
            app: AppID,
            sequence: Int64?,
            lifetime: Duration?
        ) async throws -> ImportedRegistrations {
            if sequence != nil {
                guard self.taken.withLockedValue({ $0.count }) < self.groups else {
                    throw StoreError(.unavailable, "SQLite answers 13")
                }
                self.taken.withLockedValue { $0.append(rows.count) }
            }
            return ImportedRegistrations(sequence: 1, results: rows.map { _ in .created })
        }

        func register(_ request: RegisterRequest, of job: RegisterJob) async throws -> RegisterResult? { .gone }

        func registrations(_ query: RegistrationQuery) async throws -> Page<Registration> {
            Page(items: [], cursor: nil)
        }

        func credentialUses(app: AppID) async throws -> [CredentialUse] { [] }
    }

    private func importer(_ store: any RegistrationStore, idle: Duration = .seconds(60)) -> RegistrationImporter {
        var limits = ServingLimits()
        limits.settings.requestTime = idle
        return RegistrationImporter(store: store, limits: limits, app: .default, spec: AppSpec())
    }

    /// Feeds lines as fast as they are taken, and then ends as told.
    private func take(
        lines: Int,
        by importer: RegistrationImporter,
        end: @escaping @Sendable (RequestBody.Source) async throws -> Void
    ) async throws -> PartlyDone? {
        let (body, source) = RequestBody.makeStream()
        return await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                let piece = ByteBuffer(
                    string: String(repeating: "{\"service\":\"fcm\",\"handle\":\"h\"}\n", count: 500)
                )
                for _ in 0..<lines / 500 { await source.yield(piece) }
                try await end(source)
            }
            let failure = await #expect(throws: PartlyDone.self) { _ = try await importer.take(body) }
            source.finish()
            group.cancelAll()
            return failure
        }
    }

    @Test func anImportThatTheStoreFailsReportsTheLinesDone() async throws {
        let store = FailingStore(groups: 1)
        let failure = try await self.take(lines: 90_000, by: self.importer(store)) { $0.finish() }
        #expect((failure?.cause as? StoreError)?.code == .unavailable)
        #expect(failure?.done["lines"]?.number == Double(store.taken.withLockedValue { $0.reduce(0, +) }))
        #expect((failure?.done["created"]?.number ?? 0) >= 32_768)
        // Bounded groups, however much there is.
        #expect(store.taken.withLockedValue { $0.allSatisfy { $0 < 40_000 } })
    }

    @Test func anInterruptedUploadKeepsItsCompleteGroups() async throws {
        struct Broken: Error {}
        let store = FailingStore(groups: .max)
        let failure = try await self.take(lines: 40_000, by: self.importer(store)) { $0.finish(Broken()) }
        #expect((failure?.cause as? Problem)?.status == .badRequest)
        #expect(failure?.done["lines"]?.number == 33_000)
        #expect(store.taken.withLockedValue { $0 } == [33_000])
    }

    @Test func anUploadThatStallsIs408() async throws {
        let store = FailingStore(groups: .max)
        let failure = try await self.take(lines: 1000, by: self.importer(store, idle: .milliseconds(200))) { _ in
            try await Task.sleep(for: .seconds(60))
        }
        #expect((failure?.cause as? Problem)?.status == .requestTimeout)
        #expect(failure?.done["lines"]?.number == 0)
        #expect(store.taken.withLockedValue { $0.isEmpty })
    }
}
