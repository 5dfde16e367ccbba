import HTTPTypes
import HummingbirdTesting
import NIOCore
import PushModel
import Settings
import Testing
import Undisturbed

@testable import HTTPAPI
@testable import WebServing

/// How the app's page is served.
@Suite(.undisturbed) struct PageTests {
    private func header(_ name: String, of answer: Harness.Answer) throws -> String? {
        let name = try #require(HTTPField.Name(name))
        return answer.headers[name]
    }

    @Test func everyFileIsServedForEveryApp() async throws {
        #expect(PageFiles.app.all.keys.contains(PageFiles.index))
        try await Harness.run { api async throws in
            for (name, file) in PageFiles.app.all {
                for folder in ["/app/", "/app/shop/"] {
                    let answer = try await api.call(.get, folder + name, as: .nobody)
                    #expect(answer.status == 200, "\(name)")
                    #expect(answer.bytes == Array(file.content.readableBytesView) && !answer.bytes.isEmpty)
                    #expect(answer.headers[.contentType] == file.type)
                }
            }
            for path in ["/app/", "/app/shop/"] {
                let page = try await api.call(.get, path, as: .nobody)
                #expect(page.status == 200 && page.headers[.contentType] == "text/html; charset=utf-8")
                #expect(page.text.hasPrefix("<!DOCTYPE html>") || page.text.hasPrefix("<!doctype html>"))
            }
            for path in [
                "/app/nothing.js", "/app/shop/nothing.js", "/app/../openapi.yaml", "/app/A_B", "/app/A_B/",
                "/app/A_B/app.js",
                "/app/shop/x/y",
            ] {
                #expect(try await api.call(.get, path, as: .nobody).status == 404, "\(path)")
            }
        }
    }

    @Test func theBrowserIsKeptFromEverythingElse() async throws {
        try await Harness.run { api async throws in
            for path in ["/app/", "/app/sw.js", "/app/shop/"] {
                let answer = try await api.call(.get, path, as: .nobody)
                let policy = try #require(answer.headers[.contentSecurityPolicy])
                let directives = policy.split(separator: "; ").map(String.init)
                let wanted = [
                    "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
                    "worker-src 'self'", "manifest-src 'self'", "base-uri 'none'", "form-action 'none'",
                    "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types pushline",
                ]
                for directive in wanted { #expect(directives.contains(directive), "\(directive)") }
                #expect(!policy.contains("unsafe") && !policy.contains("http"))
                #expect(answer.headers[.contentTypeOptions] == "nosniff")
                #expect(try self.header("Referrer-Policy", of: answer) == "no-referrer")
                #expect(try self.header("Cross-Origin-Opener-Policy", of: answer) == "same-origin")
                #expect(try self.header("Cross-Origin-Resource-Policy", of: answer) == "same-origin")
                #expect(answer.headers[.cacheControl] == "no-cache")
            }
        }
    }

    /// What is missing in a language would be shown by its name, and a value without its place not at all.
    @Test func everyLanguageHasTheSameTexts() throws {
        let names = PageFiles.app.all.keys.filter { $0.hasPrefix("texts-") }
        #expect(names.count == 5)
        func texts(_ name: String) throws -> [String: [String]] {
            let file = try #require(PageFiles.app.all[name])
            guard case .object(let members) = try JSONReader.read(Array(file.content.readableBytesView)) else {
                throw InvalidValue("\(name) is no object")
            }
            let texts = try members.map { member -> (String, [String]) in
                let text = try #require(member.value.text, "\(name): \(member.name)")
                #expect(!text.isEmpty, "\(name): \(member.name)")
                return (member.name, text.matches(of: /\{\w+\}/).map { String($0.output) }.sorted())
            }
            return Dictionary(texts) { first, _ in
                Issue.record("\(name) has a text twice")
                return first
            }
        }
        let english = try texts("texts-en.json")
        #expect(english.count > 20)
        for name in names {
            let other = try texts(name)
            #expect(Set(other.keys) == Set(english.keys), "\(name)")
            for (key, places) in english { #expect(other[key] == places, "\(name): \(key)") }
        }
    }

    @Test func whatTheBrowserHasIsNotSentAgain() async throws {
        try await Harness.run { api async throws in
            let first = try await api.call(.get, "/app/app.js", as: .nobody)
            let tag = try #require(first.headers[.eTag])
            #expect(tag.hasPrefix("\"") && tag.hasSuffix("\"") && tag.count > 20)
            for known in [tag, "W/\(tag)", "\"other\", \(tag)", "*"] {
                let answer = try await api.call(.get, "/app/app.js", as: .nobody, headers: ["If-None-Match": known])
                #expect(answer.status == 304 && answer.bytes.isEmpty, "\(known)")
                #expect(answer.headers[.eTag] == tag)
                #expect(answer.headers[.contentSecurityPolicy] != nil)
            }
            for other in ["\"other\"", "", String(tag.dropLast())] {
                let answer = try await api.call(.get, "/app/app.js", as: .nobody, headers: ["If-None-Match": other])
                #expect(answer.status == 200, "\(other)")
            }
            #expect(try await api.call(.get, "/app/app.css", as: .nobody).headers[.eTag] != tag)
            let head = try await api.call(.head, "/app/app.js", as: .nobody)
            #expect(head.status == 200 && head.bytes.isEmpty)
            #expect(head.headers[.contentLength] == String(first.bytes.count))
            #expect(try await api.call(.post, "/app/", as: .nobody, body: "x").status == 405)
        }
    }

    @Test func aPathWithoutItsSlashLeadsToThePage() async throws {
        try await Harness.run { api async throws in
            for (path, location) in [("/app", "app/"), ("/app/shop", "shop/")] {
                let answer = try await api.call(.get, path, as: .nobody)
                #expect(answer.status == 308 && answer.headers[.location] == location)
            }
        }
    }

    @Test func thePageLearnsWhatItMayOffer() async throws {
        let key = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
        var options = Harness.Options()
        options.spec.fcm = AppSpec.FCM { $0.serviceAccountFile = "/f" }
        options.spec.web = AppSpec.WebPush {
            $0.publicKey = key
            $0.privateKeyFile = "/k"
            $0.subject = "mailto:a@example.com"
        }
        try await Harness.run(options) { api async throws in
            let own = try await api.call(.get, "/app/config.json", as: .nobody)
            #expect(own.text == #"{"app":"default","services":["fcm","web"],"vapidPublicKey":"\#(key)"}"#)
            let other = try await api.call(.get, "/app/other/config.json", as: .nobody)
            #expect(other.text == #"{"app":"other","services":[],"vapidPublicKey":null}"#)
            #expect(try await api.call(.get, "/app/missing/config.json", as: .nobody).status == 404)
        }
    }

    @Test func itIsOffUnlessItIsConfigured() async throws {
        var options = Harness.Options()
        options.configuration.settings.page = APIConfiguration().settings.page
        try await Harness.run(options) { api async throws in
            for path in ["/app", "/app/", "/app/app.js", "/app/config.json", "/app/other/", "/app/other/config.json"] {
                #expect(try await api.call(.get, path, as: .nobody).status == 404, "\(path)")
            }
        }
    }
}
