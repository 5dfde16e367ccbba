import Foundation
import HummingbirdTesting
import PushModel
import PushlineClient
import Settings
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

/// The client library's half for apps, against the API on the loopback.
@Suite(.undisturbed) struct DeviceRegistrationTests {
    private static let token = Data(repeating: 0xAB, count: 32)
    private static let handle = String(repeating: "ab", count: 32)

    /// A phone: its file and its user's clients.
    private struct Phone: Sendable {
        let api: Harness
        let storage: FileRegistrationStorage
        let registration: DeviceRegistration

        init(_ api: Harness, _ folder: URL) {
            self.api = api
            self.storage = FileRegistrationStorage(file: folder.appending(path: "registration.json"))
            self.registration = DeviceRegistration(storage: self.storage)
        }

        func client(_ user: String) throws -> PushlineClient {
            let port = try #require(self.api.client.port)
            let url = try #require(URL(string: "http://127.0.0.1:\(port)"))
            return PushlineClient(url: url, credentials: .account(name: user, password: "\(user)-password"))
        }

        @discardableResult
        func register(
            _ user: String,
            token: Data = DeviceRegistrationTests.token,
            tags: [String] = []
        ) async throws -> DeviceRegistration.Outcome {
            let device = Device(apnsToken: token, tags: tags)
            return try await self.registration.register(device, user: user, with: self.client(user))
        }

        /// The registration as the store has it.
        func stored() async throws -> PushModel.Registration {
            let text = try #require(try await self.registration.id)
            let id = try #require(RegistrationID(text))
            return try #require(try await self.api.store.registration(id, app: .default))
        }
    }

    private func withPhone(
        _ options: Harness.Options = Harness.Options(),
        _ body: @Sendable @escaping (Phone) async throws -> Void
    ) async throws {
        var options = options
        options.setup = .live
        let folder = FileManager.default.temporaryDirectory.appending(path: "pushline-phone-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try await Harness.run(options) { api async throws in try await body(Phone(api, folder)) }
    }

    @Test func aDeviceIsRegisteredOnceAndForEachChange() async throws {
        try await self.withPhone { phone in
            #expect(try await phone.register("alice", tags: ["news"]) == .registered)
            let id = try await phone.registration.id
            #expect(try await phone.stored().handle?.text == Self.handle)
            #expect(try await phone.register("alice", tags: ["news"]) == .unchanged)
            let fresh = Data(repeating: 0xCD, count: 32)
            #expect(try await phone.register("alice", token: fresh, tags: ["news"]) == .registered)
            #expect(try await phone.stored().handle?.text == String(repeating: "cd", count: 32))
            #expect(try await phone.register("alice", token: fresh, tags: ["beta"]) == .registered)
            #expect(
                try await phone.client("alice").registrations().items.map { $0.tags.sorted() } == [
                    ["beta", "username:alice"]
                ]
            )
            #expect(try await phone.registration.id == id)
        }
    }

    @Test func aPhoneIsHandedOverToWhoSignsInNext() async throws {
        try await self.withPhone { phone in
            try await phone.register("alice")
            let id = try await phone.registration.id
            #expect(try await phone.register("bob") == .registered)
            #expect(try await phone.registration.id == id)
            #expect(try await phone.client("alice").registrations().items.isEmpty)
            #expect(try await phone.client("bob").registrations().items.map(\.user) == ["bob"])
        }
    }

    @Test func aDeletedRegistrationStartsOver() async throws {
        try await self.withPhone { phone in
            try await phone.register("alice")
            let old = try #require(try await phone.registration.id)
            try await phone.client("alice").deleteRegistration(old)
            #expect(try await phone.register("alice", tags: ["news"]) == .startedOver)
            #expect(try await phone.registration.id != old)
            #expect(try await phone.stored().state == .live)
        }
    }

    /// The user took the phone's token along to another id, as a copied backup does.
    @Test func anIDOfAnotherUserStartsOver() async throws {
        try await self.withPhone { phone in
            try await phone.register("alice")
            let old = try #require(try await phone.registration.id)
            let other = Data(repeating: 0xCD, count: 32)
            #expect(try await phone.register("bob", token: other) == .startedOver)
            #expect(try await phone.registration.id != old)
            #expect(try await phone.client("alice").registrations().items.map(\.id) == [old])
        }
    }

    @Test func aLostFileFindsItsRegistrationAgain() async throws {
        try await self.withPhone { phone in
            try await phone.register("alice")
            let id = try await phone.registration.id
            try FileManager.default.removeItem(at: phone.storage.file)
            #expect(try await phone.register("alice") == .registered)
            #expect(try await phone.registration.id == id)
        }
    }

    @Test func signingOutEndsTheRegistration() async throws {
        try await self.withPhone { phone in
            try await phone.register("alice")
            try await phone.registration.unregister(with: phone.client("alice"))
            #expect(try await phone.client("alice").registrations().items.isEmpty)
            #expect(try await phone.register("alice") == .registered)
            #expect(try await phone.stored().state == .live)
        }
    }

    @Test func aWrongPasswordIsAnErrorAndTheRightOneWorksAfterIt() async throws {
        try await self.withPhone { phone in
            let wrong = PushlineClient(
                url: try phone.client("alice").url,
                credentials: .account(name: "alice", password: "no")
            )
            let device = Device(apnsToken: Self.token)
            let error = await #expect(throws: PushlineError.self) {
                try await phone.registration.register(device, user: "alice", with: wrong)
            }
            #expect(error?.code == .unauthorized)
            #expect(try await phone.register("alice") == .registered)
        }
    }

    @Test func aTextIsSentToAUserAndToEachService() async throws {
        var options = Harness.Options()
        options.hub = .onlyRegisters
        options.configuration.settings.classicWait = .milliseconds(50)
        try await self.withPhone(options) { phone in
            var results: [ClassicResult] = []
            try await phone.client("alice").sendMessage("a \"b\" \\", to: "bob", through: [.apns, .mpns, .fcm]) {
                results.append($0)
            }
            #expect(results.map { $0.error?.code } == [nil, .invalidRequest, nil])
            let job = try #require(results[0].job.flatMap(JobID.init))
            guard case .send(let send) = try await phone.api.store.job(job, app: .default)?.work else {
                Issue.record("the job is no send")
                return
            }
            #expect(send.platforms == [.apns])
            #expect(send.content == .classic(sender: "alice", text: "a \"b\" \\"))
        }
    }

    @Test func aRichPushIsFetchedByItsAddressee() async throws {
        try await self.withPhone { phone in
            let alice = try phone.client("alice")
            try await alice.sendRich(message: "Look")
            let sent = try #require(try await alice.richNotifications().items.first)
            guard case .file(let data, "image/png") = try await alice.fetchRich(sent.id) else {
                Issue.record("the content is no picture")
                return
            }
            #expect(data.starts(with: [0x89, 0x50, 0x4E, 0x47]))
            #expect(try await alice.richNotifications().items.map(\.isRead) == [true])
            let error = await #expect(throws: PushlineError.self) { try await phone.client("bob").fetchRich(sent.id) }
            #expect(error?.code == .notFound)
        }
    }

    @Test func aSecurePushIsFetchedAsItsText() async throws {
        var options = Harness.Options()
        options.spec.richDefault.isSecure = true
        try await self.withPhone(options) { phone in
            let alice = try phone.client("alice")
            try await alice.sendRich(message: "say \"hi\"")
            let sent = try #require(try await alice.richNotifications().items.first)
            #expect(try await alice.fetchRich(sent.id) == .text("say \"hi\"", wasRead: false))
            #expect(try await alice.fetchRich(sent.id) == .text("say \"hi\"", wasRead: true))
        }
    }
}
