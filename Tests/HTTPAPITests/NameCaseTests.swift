import Authentication
import Callers
import Foundation
import HTTPTypes
import PushModel
import Store
import Testing
import Undisturbed

@testable import HTTPAPI
@testable import WebServing

/// Names whose letter case is another (decision 27): phones capitalise what is typed.
@Suite(.undisturbed) struct NameCaseTests {
    private static let exact: Harness.Options = {
        var options = Harness.Options()
        options.spec.users = .exact
        return options
    }()

    /// Adds an account that was first written with a capital.
    private static func addCarol(_ api: Harness, _ name: String = "Carol", _ users: AppSpec.Users = .folded)
        async throws
    {
        let account = Account(
            app: .default,
            name: try UserName(name, users),
            role: .user,
            isDisabled: false,
            created: .now
        )
        let hash = try PasswordHash.make("\(name)-password", cost: Harness.cheap)
        try await api.store.apply(.account(.put(account, passwordHash: hash)))
    }

    /// How many devices a send to that user would reach.
    private static func count(_ user: String, _ api: Harness) async throws -> Double? {
        let answer = try await api.call(.post, "/api/sends/count", body: #"{"to":{"user":"\#(user)"}}"#)
        #expect(answer.status == 200, "\(answer.text)")
        return answer.json["total"]?.number
    }

    @Test func userNamesIgnoreLetterCase() async throws {
        try await Harness.run { api async throws in
            try await Self.addCarol(api)
            let phone = Harness.As.basic("carol", "Carol-password")
            let tablet = Harness.As.basic("CAROL", "Carol-password")
            let id = try await api.register(as: phone, tags: #"["News","NEWS","From:carOL"]"#)
            for name in ["carol", "Carol", "cAROL"] { #expect(try await Self.count(name, api) == 1) }
            let found = try await api.store.registration(try #require(RegistrationID(id)), app: .default)
            let stored = try #require(found)
            // As the account was first written; a name in a tag as it compares.
            #expect(stored.user?.name == "Carol")
            #expect(stored.tags.map(\.name) == ["from:carol", "News", "username:carol"])
            // The same phone, signed in with other letters, has its registration still.
            let list = try await api.call(.get, "/api/registrations?user=Carol&tag=nEWS", as: tablet)
            #expect(list.json["items"]?.elements.count == 1, "\(list.text)")
            let sent = try await api.call(.post, "/api/notifications?pns=apns&to_tag=Carol", as: tablet, body: "\"x\"")
            #expect(sent.status == 200)
            let jobs = try await api.call(.get, "/api/jobs?kind=send&user=carol", as: phone)
            let job = try #require(jobs.json["items"]?.elements.first)
            #expect(job["user"]?.text == "Carol")
            #expect(job["to"]?.elements.map(\.text) == ["username:carol", "from:carol"])
            let kept = try await api.store.job(try #require(sent.headers[.job].flatMap(JobID.init)), app: .default)
            guard case .send(let send)? = kept?.work else { throw InvalidValue("not a send") }
            #expect(send.content == .classic(sender: "Carol", text: "x"))
            #expect(try await api.call(.delete, "/api/register/\(id)", as: tablet).status == 200)
            #expect(try await Self.count("Carol", api) == 0)
        }
    }

    @Test func ownershipIgnoresLetterCase() async throws {
        try await Harness.run { api async throws in
            try await Self.addCarol(api)
            let small = Harness.As.basic("carol", "Carol-password")
            let large = Harness.As.basic("CAROL", "Carol-password")
            // A repeat is the same caller's.
            let key = ["Idempotency-Key": "k"]
            let body = #"{"to":{"user":"BOB"},"body":"x"}"#
            let first = try await api.call(.post, "/api/sends", as: small, body: body, headers: key)
            let again = try await api.call(.post, "/api/sends", as: large, body: body, headers: key)
            #expect(first.status == 202)
            #expect(again.headers[.job] == first.headers[.job])
            #expect(again.headers[.job] != nil)
            // A rich notification is its addressee's.
            let rich = try await api.call(.post, "/api/notifications", as: small)
            #expect(rich.status == 200)
            let kept = try await api.store.richNotifications(RichNotificationQuery(app: .default)).items
            let id = try #require(kept.first?.id)
            #expect(try await api.call(.get, "/api/notifications/\(id)", as: large).status == 200)
            #expect(try await api.call(.get, "/api/notifications/\(id)", as: .user("bob")).status == 404)
            let list = try await api.call(.get, "/api/notifications?sender=cAROL", as: large)
            #expect(list.json["items"]?.elements.first?["user"]?.text == "Carol", "\(list.text)")
        }
    }

    @Test func rateLimitsIgnoreLetterCase() {
        let limiter = RateLimiter()
        let now = ContinuousClock.now
        #expect(limiter.take(.user("Alice"), rate: 1, now: now) == nil)
        #expect(limiter.take(.user("aLICE"), rate: 1, now: now) != nil)
        #expect(Caller.user("Alice").description == "account:alice")
    }

    @Test func theTagLimitIgnoresLetterCase() async throws {
        try await Harness.run { api async throws in
            let most = (0..<200).map { "\"t\($0)\"" }.joined(separator: ",")
            _ = try await api.register(tags: "[\(most),\"T0\"]")
            let body = #"{"Platform":"apns","Handle":"ab","Tags":[\#(most),"other"]}"#
            let answer = try await api.call(.put, "/api/register/x", body: body)
            #expect(answer.status == 400)
            #expect(answer.wrongMembers == ["Tags"])
        }
    }

    @Test func tagsOfASendIgnoreLetterCase() async throws {
        try await Harness.run { api async throws in
            _ = try await api.register(tags: #"["Beta"]"#)
            let desk = Harness.As.user("desk")
            for to in [
                #"{"tag":"bETA"}"#, #"{"tags":["BETA","beta"]}"#, #"{"tags":"BETA && !Gamma"}"#,
                #"{"tag":"UserName:ALICE"}"#,
                #"{"users":["ALICE","Alice","nobody"]}"#,
            ] {
                let answer = try await api.call(.post, "/api/sends/count", as: desk, body: #"{"to":\#(to)}"#)
                #expect(answer.json["total"]?.number == 1, "\(to): \(answer.text)")
            }
            let none = try await api.call(
                .post,
                "/api/sends/count",
                as: desk,
                body: #"{"to":{"tags":"Beta && !BETA"}}"#
            )
            #expect(none.json["total"]?.number == 0)
        }
    }

    @Test func accountsAreFoundInAnyLetterCase() async throws {
        try await Harness.run { api async throws in
            try await Self.addCarol(api)
            let error = await #expect(throws: StoreError.self) { try await Self.addCarol(api, "carol") }
            #expect(error.map { Problem($0).status.code } == 409)
            let changed = try await api.call(
                .patch,
                "/api/accounts/cAROL",
                as: .user("root"),
                body: #"{"disabled":true}"#
            )
            #expect(changed.json["name"]?.text == "Carol")
            #expect(try await api.call(.get, "/api/jobs", as: .basic("Carol", "Carol-password")).status == 401)
        }
    }

    @Test func importedNamesCompareAsTheAppDeclares() async throws {
        let body = """
            {"service":"fcm","handle":"h1","user":"Ann","tags":["USERNAME:ann","From:ANN","Beta","BETA"]}
            {"service":"fcm","handle":"h2","tags":["UserName:Ann"]}
            """
        for (options, created) in [(Harness.Options(), 2.0), (Self.exact, 1)] {
            try await Harness.run(options) { api async throws in
                let answer = try await api.call(
                    .post,
                    "/api/registrations/import",
                    as: .user("root"),
                    body: body,
                    headers: ["Content-Type": "application/x-ndjson"]
                )
                #expect(answer.json["created"]?.number == created, "\(answer.text)")
                #expect(try await Self.count("Ann", api) == created)
                #expect(try await Self.count("ANN", api) == (created == 2 ? 2 : 0))
            }
        }
    }

    /// In an app whose users come from elsewhere, letters tell them apart, and nothing else changes.
    @Test func exactUsersDifferByLetterCase() async throws {
        try await Harness.run(Self.exact) { api async throws in
            try await Self.addCarol(api, "Carol", .exact)
            try await Self.addCarol(api, "carol", .exact)
            let large = Harness.As.user("Carol")
            let small = Harness.As.user("carol")
            #expect(try await api.call(.get, "/api/jobs", as: .basic("CAROL", "Carol-password")).status == 401)
            #expect(try await api.call(.get, "/api/jobs", as: .basic("carol", "Carol-password")).status == 401)
            _ = try await api.register(as: large, tags: #"["Beta","FROM:Carol"]"#)
            #expect(try await Self.count("Carol", api) == 1)
            #expect(try await Self.count("carol", api) == 0)
            let stolen = #"{"Platform":"apns","Handle":"cd","Tags":["FROM:Carol"]}"#
            #expect(try await api.call(.put, "/api/register/x", as: small, body: stolen).status == 403)
            let reserved = #"{"Platform":"apns","Handle":"cd","Tags":["VIP-1"]}"#
            #expect(try await api.call(.put, "/api/register/x", as: small, body: reserved).status == 403)
            #expect(
                try await api.call(.get, "/api/registrations?user=Carol", as: small).status == 403
            )
            let beta = try await api.call(
                .post,
                "/api/sends/count",
                as: .user("desk"),
                body: #"{"to":{"tags":"BETA && username:Carol && !username:carol"}}"#
            )
            #expect(beta.json["total"]?.number == 1)
        }
    }

    @Test(arguments: AppSpec.Users.allCases) func theDemonstrationSchemeComparesNamesAsItsApp(users: AppSpec.Users)
        async throws
    {
        var options = Harness.Options()
        options.spec.authentication = .demonstration
        options.spec.users = users
        try await Harness.run(options) { api async throws in
            _ = try await api.register(as: .basic("Dave", "Dave"))
            let list = try await api.call(.get, "/api/registrations", as: .basic("dave", "dave"))
            #expect(list.json["items"]?.elements.count == (users == .folded ? 1 : 0))
            // The password is the name as it is typed.
            #expect(try await api.call(.get, "/api/jobs", as: .basic("Dave", "dave")).status == 403)
        }
    }
}
