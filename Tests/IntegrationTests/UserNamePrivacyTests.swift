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
    /// In no other text, in any letter case.
    private static let user = "Marker-q7Z"
    private static let programs = EndToEndInstallation.programs + ["hub"]

    /// What others than the caller and the store may see.
    private final class Seen: Sendable {
        private let texts = NIOLockedValueBox<[String]>([])

        func note(_ text: String) { self.texts.withLockedValue { $0.append(text) } }

        /// Those with the user's name or with the password, also as `Authorization` has them.
        var faults: [String] {
            let (user, password) = (UserNamePrivacyTests.user, EndToEndInstallation.password)
            let login = Data("\(user):\(password)".utf8).base64EncodedString()
            // As much as says the name alone.
            let secrets = [user, password, String(login.prefix(12))].map { $0.lowercased() }
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
            try await Self.register(installation, seen)
            try await Self.send(installation, seen)
            try await Self.administer(installation, seen)
            try await Self.pause(installation, seen)
            try await Self.useHub(installation, seen)
            try await Self.signInOnThePage(installation, seen)
            try await Self.remove(installation, seen)
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

    private static func asUser(
        _ installation: EndToEndInstallation,
        _ seen: Seen,
        _ method: String,
        _ path: String,
        _ body: String? = nil
    ) async throws -> EndToEndInstallation.Answer {
        let answer = try await installation.asUser(Self.user, method, path, body: body)
        seen.note("\(method) \(path.prefix(20)): \(answer.headers)")
        return answer
    }

    private static func asBackend(
        _ installation: EndToEndInstallation,
        _ seen: Seen,
        _ method: String,
        _ path: String,
        _ body: String? = nil,
        type: String = "application/json"
    ) async throws -> EndToEndInstallation.Answer {
        let answer = try await installation.asBackend(method, path, body: body, type: type)
        seen.note("\(method) \(path.prefix(10)): \(answer.headers)")
        return answer
    }

    private static func register(_ installation: EndToEndInstallation, _ seen: Seen) async throws {
        try await installation.add(users: [Self.user])
        try await installation.register(Self.user, platform: "apns", handle: String(repeating: "cd", count: 32))
        let device = #"{"service":"fcm","handle":"abc","user":"\#(Self.user)","tags":["from:\#(Self.user)"]}"#
        let put = try await Self.asBackend(installation, seen, "PUT", "/api/registrations/r-1", device)
        #expect([200, 202].contains(put.status))
        let refused = try await Self.asUser(
            installation,
            seen,
            "PUT",
            "/api/registrations/r-2",
            #"{"service":"fcm","handle":"abd","tags":["username:\#(Self.user)x"]}"#
        )
        #expect(refused.status >= 400)
        let lines = [device, #"{"service":"nothing","handle":"x","user":"\#(Self.user)"}"#].joined(separator: "\n")
        let path = "/api/registrations"
        let type = "application/x-ndjson"
        #expect(
            try await Self.asBackend(installation, seen, "POST", "\(path)/import", lines, type: type).status == 200
        )
        #expect(try await Self.asBackend(installation, seen, "GET", "\(path)/export").status == 200)
        for path in ["\(path)?user=\(Self.user)&limit=1", "\(path)/export?limit=1"] {
            #expect(try await Self.asBackend(installation, seen, "GET", path).status == 200)
        }
    }

    private static func send(_ installation: EndToEndInstallation, _ seen: Seen) async throws {
        // What fails is logged too.
        installation.simulator.inject(SimulatorFault(.answer(status: 503), pns: .apns, count: 2))
        installation.simulator.inject(SimulatorFault(.answer(reason: "UNREGISTERED"), pns: .fcm, count: 1))
        var jobs: [String] = []
        for to in [
            #"{"user":"\#(Self.user)"}"#, #"{"users":["\#(Self.user)","bob"]}"#,
            #"{"tags":"username:\#(Self.user) && !x"}"#, #"{"tags":["from:\#(Self.user)"]}"#,
        ] {
            let body = #"{"to":\#(to),"body":"x"}"#
            let sent = try await Self.asBackend(installation, seen, "POST", "/api/sends", body)
            jobs.append(try #require(sent.headers["pushline-job"]))
            for route in ["count", "preview"] {
                #expect(try await Self.asBackend(installation, seen, "POST", "/api/sends/\(route)", body).status == 200)
            }
            let wrong = #"{"to":\#(to),"body":"x","\#(Self.user)":1}"#
            #expect(try await Self.asUser(installation, seen, "POST", "/api/sends", wrong).status >= 400)
        }
        let own = try await Self.asUser(
            installation,
            seen,
            "POST",
            "/api/sends",
            #"{"to":{"user":"\#(Self.user)"},"body":"x"}"#
        )
        jobs.append(try #require(own.headers["pushline-job"]))
        _ = try await Self.asUser(installation, seen, "POST", "/api/notifications", "\"rich\"")
        let classic = "/api/notifications?pns=apns&to_tag=\(Self.user)"
        #expect(try await Self.asUser(installation, seen, "POST", classic, "\"hello\"").status == 200)
        for job in jobs {
            _ = try await installation.finished(job)
            #expect(try await Self.asUser(installation, seen, "GET", "/api/jobs/\(job)/deliveries").status != 401)
        }
        #expect(try await Self.asBackend(installation, seen, "GET", "/api/jobs?user=\(Self.user)").status < 500)
    }

    private static func administer(_ installation: EndToEndInstallation, _ seen: Seen) async throws {
        let account = "\(Self.user)-2"
        let made = try await Self.asBackend(
            installation,
            seen,
            "POST",
            "/api/accounts",
            #"{"name":"\#(account)","role":"user","password":"\#(EndToEndInstallation.password)"}"#
        )
        #expect(made.status == 201)
        #expect(try await Self.asBackend(installation, seen, "GET", "/api/accounts?limit=1").status == 200)
        let path = "/api/accounts/\(account)"
        #expect(try await Self.asBackend(installation, seen, "PATCH", path, #"{"disabled":true}"#).status < 500)
        // A disabled one, and one that never was.
        for name in [account, "\(Self.user)-3"] {
            let login = Data("\(name):\(EndToEndInstallation.password)".utf8).base64EncodedString()
            var connection = try await RawConnection.open(port: installation.port)
            defer { connection.close() }
            let answer = try await connection.exchange(
                "GET /api/registrations HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic \(login)\r\n\r\n"
            )
            #expect(answer.hasPrefix("HTTP/1.1 401 "), "\(answer)")
            seen.note(Self.head(of: answer))
        }
        #expect(try await Self.asBackend(installation, seen, "DELETE", path).status < 500)
    }

    /// As an operator with an account.
    private static func pause(_ installation: EndToEndInstallation, _ seen: Seen) async throws {
        let name = "\(Self.user)-4"
        let account = #"{"name":"\#(name)","role":"operator","password":"\#(EndToEndInstallation.password)"}"#
        #expect(try await Self.asBackend(installation, seen, "POST", "/api/accounts", account).status == 201)
        for (action, words) in [("pause", "A queue is paused"), ("resume", "A queue is resumed")] {
            let answer = try await installation.asUser(name, "POST", "/api/queues/register/\(action)")
            seen.note("\(answer.headers)")
            #expect(answer.status == 200)
            try await eventually(words) { try await installation.log(of: "register-worker").contains(words) }
        }
    }

    private static func useHub(_ installation: EndToEndInstallation, _ seen: Seen) async throws {
        let hub = try await installation.startHub(as: "hub")
        let token = String(repeating: "ef", count: 32)
        let device = #"{"platform":"apns","pushChannel":"\#(token)","userId":"\#(Self.user)","tags":["a"]}"#
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
                    "ServiceBusNotification-Tags: username:\(Self.user) && !b"
                ), 201
            ),
            (hub.request("GET", "/tags/username:\(Self.user)/registrations?api-version=2015-01&$top=1"), 200),
            (hub.request("GET", "/nothing/\(Self.user)"), 404),
        ] {
            var connection = try await RawConnection.open(port: hub.port, trusting: hub.authority)
            defer { connection.close() }
            let answer = try await connection.exchange(request)
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer.prefix(400))")
            seen.note(Self.head(of: answer))
        }
    }

    private static func signInOnThePage(_ installation: EndToEndInstallation, _ seen: Seen) async throws {
        for (password, status) in [(EndToEndInstallation.password, 201), ("wrong", 401)] {
            let body = #"{"user":"\#(Self.user)","password":"\#(password)"}"#
            var connection = try await RawConnection.open(port: installation.port)
            defer { connection.close() }
            let answer = try await connection.exchange(
                "POST /api/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
            )
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
            seen.note(Self.head(of: answer))
        }
    }

    private static func remove(_ installation: EndToEndInstallation, _ seen: Seen) async throws {
        let removed = try await Self.asBackend(installation, seen, "DELETE", "/api/users/\(Self.user)")
        let job = try #require(removed.headers["pushline-job"])
        try await eventually("the user is removed") {
            struct Job: Decodable { let isFinal: Bool }
            return try await installation.asBackend("GET", "/api/jobs/\(job)").decoded(Job.self).isFinal
        }
    }

    private static func head(of answer: String) -> String {
        answer.range(of: "\r\n\r\n").map { String(answer[..<$0.lowerBound]) } ?? answer
    }
}
