import Foundation
import InstallationSupport
import NIOConcurrencyHelpers
import PushModel
import PushlineSimulator
import RawHTTP
import TestStores
import Testing
import Undisturbed

/// Whoever sees logs, headers and names of files alone learns no user's name.
@Suite(.timeLimit(.minutes(5)), .undisturbed) struct UserNamePrivacyTests {
    /// One that a tag can name, and one that none can and that is written otherwise in addresses and in JSON.
    private static let users = ["Marker-q7Z", "Marker|q7Z \u{FC}"]
    /// As they all begin, however the rest is written; in no other text, in any letter case.
    private static let beginning = "Marker"
    private static let programs = EndToEndInstallation.programs + ["hub"]

    /// What others than the caller and the store may see.
    fileprivate final class Seen: Sendable {
        private let texts = NIOLockedValueBox<[String]>([])

        func note(_ text: String) { self.texts.withLockedValue { $0.append(text) } }

        /// Those with the user's name or with the password, also as `Authorization` has them.
        var faults: [String] {
            let beginning = UserNamePrivacyTests.beginning
            let login = Data(beginning.utf8).base64EncodedString()
            let secrets = [beginning, EndToEndInstallation.password, login].map { $0.lowercased() }
            return self.texts.withLockedValue { $0 }.filter { text in
                let text = text.lowercased()
                return secrets.contains { text.contains($0) }
            }
        }
    }

    @Test func noLogNoHeaderAndNoFileNameHasOne() async throws {
        let environment = ["PUSHLINE_LOG_LEVEL": "trace", "PUSHLINE_LOG_ACCESS": "true"]
        try await withInstallation(environment: environment) {
            let installation = try #require(EndToEndInstallation.current)
            let seen = Seen()
            let hub = try await installation.startHub(as: "hub")
            for user in Self.users {
                let person = Person(user: user, installation: installation, seen: seen)
                try await person.register()
                try await person.send()
                try await person.administer()
                try await person.pause()
                try await person.use(hub)
                try await person.signInOnThePage()
                try await person.remove()
            }
            for push in installation.simulator.received() { seen.note("\(push.headers)") }
            for program in Self.programs {
                let log = try await installation.log(of: program)
                // It tells all that it has to tell.
                #expect(log.contains(" debug "), "\(program)")
                for line in log.split(separator: "\n") { seen.note(String(line)) }
            }
            let folder = installation.file("")
            let files = try #require(FileManager.default.enumerator(atPath: folder.path)?.allObjects as? [String])
            #expect(TestStore.isAtServer || files.contains("store.sqlite"))
            for file in files { seen.note(file) }
            #expect(seen.faults == [])
        }
    }

    // MARK: What is asked

    fileprivate struct Person {
        let user: String
        let installation: EndToEndInstallation
        let seen: Seen
    }
}

extension UserNamePrivacyTests.Person {
    /// Whether a tag can name it.
    private var isWord: Bool { !self.user.contains("|") }
    private var inAddresses: String { PercentCoding.encode(self.user) }
    private var inExpressions: String { self.isWord ? "username:\(self.user)" : "user('\(self.user)')" }

    private func asUser(
        _ method: String,
        _ path: String,
        _ body: String? = nil
    ) async throws -> EndToEndInstallation.Answer {
        let answer = try await self.installation.asUser(self.user, method, path, body: body)
        self.seen.note("\(method) \(path.prefix(20)): \(answer.headers)")
        return answer
    }

    private func asBackend(
        _ method: String,
        _ path: String,
        _ body: String? = nil,
        type: String = "application/json"
    ) async throws -> EndToEndInstallation.Answer {
        let answer = try await self.installation.asBackend(method, path, body: body, type: type)
        self.seen.note("\(method) \(path.prefix(10)): \(answer.headers)")
        return answer
    }

    fileprivate func register() async throws {
        try await self.installation.add(users: [self.user])
        try await self.installation.register(self.user, platform: "apns", handle: String(repeating: "cd", count: 32))
        let tags = self.isWord ? #""from:\#(self.user)""# : ""
        let device = #"{"service":"fcm","handle":"abc","user":"\#(self.user)","tags":[\#(tags)]}"#
        let put = try await self.asBackend("PUT", "/api/registrations/r-1", device)
        #expect([200, 202].contains(put.status))
        let refused = try await self.asUser(
            "PUT",
            "/api/registrations/r-2",
            #"{"service":"fcm","handle":"abd","tags":["username:\#(self.user)x"]}"#
        )
        #expect(refused.status >= 400)
        let lines = [device, #"{"service":"nothing","handle":"x","user":"\#(self.user)"}"#].joined(separator: "\n")
        let path = "/api/registrations"
        let type = "application/x-ndjson"
        #expect(try await self.asBackend("POST", "\(path)/import", lines, type: type).status == 200)
        #expect(try await self.asBackend("GET", "\(path)/export").status == 200)
        for path in ["\(path)?user=\(self.inAddresses)&limit=1", "\(path)/export?limit=1"] {
            #expect(try await self.asBackend("GET", path).status == 200)
        }
    }

    fileprivate func send() async throws {
        // What fails is logged too.
        self.installation.simulator.inject(SimulatorFault(.answer(status: 503), pns: .apns, count: 2))
        self.installation.simulator.inject(SimulatorFault(.answer(reason: "UNREGISTERED"), pns: .fcm, count: 1))
        var jobs: [String] = []
        for to in [
            #"{"user":"\#(self.user)"}"#, #"{"users":["\#(self.user)","bob"]}"#,
            #"{"tags":"\#(self.inExpressions) && !x"}"#, #"{"tags":["\#(self.isWord ? "from:\(self.user)" : "x")"]}"#,
        ] {
            let body = #"{"to":\#(to),"body":"x"}"#
            let sent = try await self.asBackend("POST", "/api/sends", body)
            jobs.append(try #require(sent.headers["pushline-job"]))
            for route in ["count", "preview"] {
                #expect(try await self.asBackend("POST", "/api/sends/\(route)", body).status == 200)
            }
            let wrong = #"{"to":\#(to),"body":"x","\#(self.user)":1}"#
            #expect(try await self.asUser("POST", "/api/sends", wrong).status >= 400)
        }
        let own = try await self.asUser("POST", "/api/sends", #"{"to":{"user":"\#(self.user)"},"body":"x"}"#)
        jobs.append(try #require(own.headers["pushline-job"]))
        _ = try await self.asUser("POST", "/api/notifications", "\"rich\"")
        let classic = "/api/notifications?pns=apns&to_tag=\(self.inAddresses)"
        #expect(try await self.asUser("POST", classic, "\"hello\"").status == 200)
        for job in jobs {
            _ = try await self.installation.finished(job)
            #expect(try await self.asUser("GET", "/api/jobs/\(job)/deliveries").status != 401)
        }
        #expect(try await self.asBackend("GET", "/api/jobs?user=\(self.inAddresses)").status < 500)
    }

    fileprivate func administer() async throws {
        let account = "\(self.user)-2"
        let made = try await self.asBackend(
            "POST",
            "/api/accounts",
            #"{"name":"\#(account)","role":"user","password":"\#(EndToEndInstallation.password)"}"#
        )
        #expect(made.status == 201)
        #expect(try await self.asBackend("GET", "/api/accounts?limit=1").status == 200)
        let path = "/api/accounts/\(self.inAddresses)-2"
        #expect(try await self.asBackend("PATCH", path, #"{"disabled":true}"#).status < 500)
        // A disabled one, and one that never was.
        for name in [account, "\(self.user)-3"] {
            let login = Data("\(name):\(EndToEndInstallation.password)".utf8).base64EncodedString()
            var connection = try await RawConnection.open(port: self.installation.port)
            defer { connection.close() }
            let answer = try await connection.exchange(
                "GET /api/registrations HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic \(login)\r\n\r\n"
            )
            #expect(answer.hasPrefix("HTTP/1.1 401 "), "\(answer)")
            self.seen.note(Self.head(of: answer))
        }
        #expect(try await self.asBackend("DELETE", path).status < 500)
    }

    /// As an operator with an account.
    fileprivate func pause() async throws {
        let name = "\(self.user)-4"
        let account = #"{"name":"\#(name)","role":"operator","password":"\#(EndToEndInstallation.password)"}"#
        #expect(try await self.asBackend("POST", "/api/accounts", account).status == 201)
        for (action, words) in [("pause", "A queue is paused"), ("resume", "A queue is resumed")] {
            let answer = try await self.installation.asUser(name, "POST", "/api/queues/register/\(action)")
            self.seen.note("\(answer.headers)")
            #expect(answer.status == 200)
            try await eventually(words) { try await self.installation.log(of: "register-worker").contains(words) }
        }
    }

    fileprivate func use(_ hub: HubAccess) async throws {
        let token = String(repeating: "ef", count: 32)
        let device = #"{"platform":"apns","pushChannel":"\#(token)","userId":"\#(self.user)","tags":["a"]}"#
        let payload = #"{"aps":{"alert":"x"}}"#
        let format = "ServiceBusNotification-Format: apple"
        for (request, status) in [
            (hub.request("PUT", "/installations/i-1", body: device), 200),
            (
                hub.request(
                    "POST",
                    "/messages?api-version=2020-06",
                    body: payload,
                    format,
                    "ServiceBusNotification-Tags: \(self.inExpressions) && !b"
                ), 201
            ),
            (
                hub.request("GET", "/tags/username:\(self.inAddresses)/registrations?api-version=2015-01&$top=1"),
                self.isWord ? 200 : 400
            ), (hub.request("GET", "/nothing/\(self.inAddresses)"), 404),
        ] {
            var connection = try await RawConnection.open(port: hub.port, trusting: hub.authority)
            defer { connection.close() }
            let answer = try await connection.exchange(request)
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer.prefix(400))")
            self.seen.note(Self.head(of: answer))
        }
    }

    fileprivate func signInOnThePage() async throws {
        for (password, status) in [(EndToEndInstallation.password, 201), ("wrong", 401)] {
            let body = #"{"user":"\#(self.user)","password":"\#(password)"}"#
            var connection = try await RawConnection.open(port: self.installation.port)
            defer { connection.close() }
            let answer = try await connection.exchange(
                "POST /api/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
            )
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
            self.seen.note(Self.head(of: answer))
        }
    }

    fileprivate func remove() async throws {
        let removed = try await self.asBackend("DELETE", "/api/users/\(self.inAddresses)")
        let job = try #require(removed.headers["pushline-job"])
        try await eventually("the user is removed") {
            struct Job: Decodable { let isFinal: Bool }
            return try await self.installation.asBackend("GET", "/api/jobs/\(job)").decoded(Job.self).isFinal
        }
    }

    private static func head(of answer: String) -> String {
        answer.range(of: "\r\n\r\n").map { String(answer[..<$0.lowerBound]) } ?? answer
    }
}
