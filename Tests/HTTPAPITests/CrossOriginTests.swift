import HTTPTypes
import HummingbirdTesting
import PushModel
import Settings
import Testing
import Undisturbed

@testable import HTTPAPI

/// Pages of other origins, over real connections.
@Suite(.undisturbed) struct CrossOriginTests {
    private static let page = "https://app.example.com"

    private func run(
        _ adjust: (inout Harness.Options) -> Void = { _ in },
        _ body: @Sendable @escaping (Harness) async throws -> Void
    ) async throws {
        var options = Harness.Options()
        options.spec.api.origins = [try WebOrigin(Self.page), try WebOrigin("http://localhost:5173")]
        options.setup = .live
        adjust(&options)
        try await Harness.run(options, body)
    }

    private func preflight(
        _ api: Harness,
        _ path: String,
        from origin: String = Self.page,
        method: String = "PUT"
    ) async throws -> Harness.Answer {
        try await api.call(
            .options,
            path,
            as: .nobody,
            headers: [
                "Origin": origin, "Access-Control-Request-Method": method,
                "Access-Control-Request-Headers": "authorization,content-type",
            ]
        )
    }

    @Test func aBrowserIsToldWhatItMaySend() async throws {
        try await self.run { api async throws in
            for origin in [Self.page, "http://localhost:5173"] {
                for path in ["/api/sends", "/api/register/x", "/API/Register/x", "/api/apps/default/jobs"] {
                    let answer = try await self.preflight(api, path, from: origin)
                    #expect(answer.status == 204)
                    #expect(answer.headers[.accessControlAllowOrigin] == origin)
                    #expect(answer.headers[.accessControlAllowMethods] == "GET, POST, PUT, PATCH, DELETE")
                    #expect(
                        answer.headers[.accessControlAllowHeaders]
                            == "Authorization, Content-Type, Idempotency-Key, Prefer, traceparent, tracestate"
                    )
                    #expect(answer.headers[.accessControlMaxAge] == "3600")
                    #expect(answer.headers[.vary] == "Origin")
                    #expect(answer.headers[.accessControlAllowCredentials] == nil)
                    #expect(answer.bytes.isEmpty)
                }
            }
        }
    }

    /// What the preflight allows is what the routes take.
    @Test func theMethodsAreThoseOfTheRoutes() async throws {
        try await self.run { api async throws in
            #expect(Set(CrossOrigin.methods) == api.table.methods.values.reduce(into: []) { $0.formUnion($1) })
        }
    }

    @Test func answersAreReadableToDeclaredOriginsAlone() async throws {
        try await self.run { api async throws in
            let read = try await api.call(.get, "/api/jobs", headers: ["Origin": Self.page])
            #expect(read.status == 200)
            #expect(read.headers[.accessControlAllowOrigin] == Self.page)
            #expect(read.headers[.vary] == "Origin")
            let exposed = try #require(read.headers[.accessControlExposeHeaders])
            for name in ["Location", "Retry-After", "Pushline-Job", "Preference-Applied", "Pushline-Cursor"] {
                #expect(exposed.contains(name))
            }
            let others = [
                "https://evil.example.com", "http://app.example.com", "https://app.example.com:8443", "null", "*", "",
                "https://app.example.com.evil.com", "https://app.example.com/", "HTTPS://APP.EXAMPLE.COM",
            ]
            for origin in others {
                let answer = try await api.call(.get, "/api/jobs", headers: ["Origin": origin])
                #expect(answer.status == 200)
                Self.expectNothing(answer, origin)
                #expect(answer.headers[.vary] == "Origin")
                let preflight = try await self.preflight(api, "/api/jobs", from: origin)
                #expect(preflight.status == 405)
                Self.expectNothing(preflight, origin)
            }
            // A cache must not give this answer to a page.
            #expect(try await api.call(.get, "/api/jobs").headers[.vary] == "Origin")
        }
    }

    /// A browser adds stored passwords to what any page asks for.
    @Test(arguments: [AppSpec.Authentication.accounts, .demonstration])
    func aForeignPageCannotUseAPassword(authentication: AppSpec.Authentication) async throws {
        try await self.run({
            $0.spec.authentication = authentication
        }) { api async throws in
            let password = authentication == .accounts ? "alice-password" : "alice"
            func status(_ headers: [String: String], as caller: Harness.As? = nil) async throws -> Int {
                try await api.call(.get, "/api/jobs", as: caller ?? .basic("alice", password), headers: headers).status
            }
            for site in ["cross-site", "same-site"] {
                #expect(try await status(["Sec-Fetch-Site": site, "Origin": "https://evil.example.com"]) == 403)
                #expect(try await status(["Sec-Fetch-Site": site, "Origin": "null"]) == 403)
                #expect(try await status(["Sec-Fetch-Site": site]) == 403)
                #expect(try await status(["Sec-Fetch-Site": site, "Origin": Self.page]) == 200)
                // A key is in no browser's store.
                let key = try await api.key(.sender, name: site)
                #expect(try await status(["Sec-Fetch-Site": site], as: key) == 200)
            }
            for site in ["none", "same-origin"] { #expect(try await status(["Sec-Fetch-Site": site]) == 200) }
            #expect(try await status(["Origin": "https://evil.example.com"]) == 200)
        }
    }

    /// Executed all the same, a request would get an answer that its page cannot read.
    @Test func withoutTheDeclarationNothingIsExecuted() async throws {
        try await self.run({ $0.configuration.settings.inFlight = 0 }) { api async throws in
            #expect(try await self.preflight(api, "/api/jobs").status == 503)
            let answer = try await api.call(.get, "/api/nothing", headers: ["Origin": Self.page])
            #expect(answer.status == 503)
            #expect(answer.headers[.vary] == "Origin")
        }
    }

    private static func expectNothing(_ answer: Harness.Answer, _ origin: String) {
        let names = answer.headers.map(\.name.canonicalName).filter { $0.hasPrefix("access-control") }
        #expect(names.isEmpty, "\(origin)")
    }

    @Test func refusalsAreReadableToo() async throws {
        try await self.run({ $0.spec.requestsPerSecond = 1 }) { api async throws in
            @Sendable func status(_ method: HTTPRequest.Method, _ path: String, as caller: Harness.As) async throws
                -> Int
            {
                let answer = try await api.call(method, path, as: caller, headers: ["Origin": Self.page])
                #expect(answer.headers[.accessControlAllowOrigin] == Self.page, "\(path)")
                #expect(answer.headers[.accessControlExposeHeaders]?.contains("Retry-After") == true)
                return answer.status
            }
            #expect(try await status(.get, "/api/jobs", as: .nobody) == 401)
            #expect(try await status(.get, "/api/jobs", as: .basic("alice", "wrong")) == 401)
            #expect(try await status(.get, "/api/nothing", as: .user("alice")) == 404)
            #expect(try await status(.delete, "/api/jobs", as: .user("alice")) == 405)
            #expect(try await status(.post, "/api/sends", as: .user("bob")) == 400)
            #expect(try await status(.get, "/api/keys", as: .user("desk")) == 403)
            let seen = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<20 { group.addTask { try await status(.get, "/api/jobs", as: .user("alice")) } }
                return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
            }
            #expect(seen.contains(429))
        }
    }

    @Test func eachAppHasItsOwnOrigins() async throws {
        try await self.run { api async throws in
            #expect(try await self.preflight(api, "/api/apps/other/jobs").status == 405)
            #expect(try await self.preflight(api, "/api/apps/missing/jobs").status == 405)
            let other = try await api.call(
                .get,
                "/api/apps/other/jobs",
                as: .basic("alice", "other-password"),
                headers: ["Origin": Self.page]
            )
            #expect(other.status == 200)
            Self.expectNothing(other, Self.page)
            #expect(other.headers[.vary] == "Origin")
            // What belongs to no app is for no page.
            for path in ["/healthz", "/metrics", "/openapi.yaml"] {
                Self.expectNothing(try await api.call(.get, path, headers: ["Origin": Self.page]), path)
            }
            // OPTIONS alone asks for nothing.
            let options = try await api.call(.options, "/api/jobs", headers: ["Origin": Self.page])
            #expect(options.status == 405)
        }
    }
}
