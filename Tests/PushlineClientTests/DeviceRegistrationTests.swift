import Foundation
import Testing
import Undisturbed

@testable import PushlineClient

@Suite(.undisturbed) struct DeviceRegistrationTests {
    private static let ok = HTTPAnswer(status: 200)
    private static let gone = HTTPAnswer(status: 410)
    private let phone = Device(apnsToken: Data([0xAB, 0x01]), tags: ["b", "a"])

    /// A device with its file, and the requests that it made.
    private struct Fixture {
        let folder = TemporaryFolder()
        let transport: ScriptedTransport
        let storage: FileRegistrationStorage
        let registration: DeviceRegistration

        init(
            _ answers: HTTPAnswer...,
            renewal: Duration = .seconds(3600),
            now: @escaping @Sendable () -> Date = Date.init
        ) {
            self.transport = ScriptedTransport(answers: answers)
            self.storage = FileRegistrationStorage(file: self.folder.url.appending(path: "r.json"))
            self.registration = DeviceRegistration(storage: self.storage, renewal: renewal, now: now)
        }

        func register(
            _ device: Device,
            user: String = "ann",
            app: String? = nil
        ) async throws -> DeviceRegistration.Outcome {
            try await self.registration.register(device, user: user, with: client(self.transport, app: app))
        }

        /// Another start of the app, with the same file.
        func restarted() -> DeviceRegistration { DeviceRegistration(storage: self.storage) }
    }

    @Test func theTokensBytesAreUpperCaseHexadecimal() {
        #expect(self.phone.handle == "AB01")
        #expect(Device(apnsToken: Data((0...255).map { UInt8($0) })).handle.count == 512)
        #expect(Device(apnsToken: Data([0, 15, 16, 255])).handle == "000F10FF")
    }

    @Test func nothingChangedMakesNoRequest() async throws {
        let fixture = Fixture(.json(#""id1""#), Self.ok)
        #expect(try await fixture.register(self.phone) == .registered)
        #expect(try await fixture.register(self.phone) == .unchanged)
        let reordered = Device(service: .apns, handle: "AB01", tags: ["a", "b", "a"])
        let again = try await fixture.restarted().register(reordered, user: "ann", with: client(fixture.transport))
        #expect(again == .unchanged)
        #expect(await fixture.transport.lines == ["POST /api/register?handle=AB01", "PUT /api/register/id1"])
        #expect(try await fixture.registration.id == "id1")
    }

    @Test(arguments: [
        (Device(service: .apns, handle: "CD", tags: ["a"]), "ann", nil),
        (Device(service: .fcm, handle: "AB", tags: ["a"]), "ann", nil),
        (Device(service: .apns, handle: "AB", tags: ["a", "b"]), "ann", nil),
        (Device(service: .apns, handle: "AB", tags: []), "ann", nil),
        (Device(service: .apns, handle: "AB", tags: ["a"]), "bob", nil),
        (Device(service: .apns, handle: "AB", tags: ["a"]), "ann", "shop"),
    ])
    func aChangeIsRegisteredUnderTheSameID(device: Device, user: String, app: String?) async throws {
        let fixture = Fixture(.json(#""id1""#), Self.ok, Self.ok)
        _ = try await fixture.register(Device(service: .apns, handle: "AB", tags: ["a"]))
        #expect(try await fixture.register(device, user: user, app: app) == .registered)
        #expect(try await fixture.register(device, user: user, app: app) == .unchanged)
        let path = app.map { "/api/apps/\($0)/register/id1" } ?? "/api/register/id1"
        #expect(await fixture.transport.lines.dropFirst(2) == ["PUT \(path)"])
    }

    @Test func anUnchangedDeviceIsRenewedInTime() async throws {
        let clock = SettableClock()
        let fixture = Fixture(.json(#""id1""#), Self.ok, Self.ok, Self.ok, renewal: .seconds(100)) { clock.now }
        _ = try await fixture.register(self.phone)
        clock.advance(by: 99)
        #expect(try await fixture.register(self.phone) == .unchanged)
        clock.advance(by: 1)
        #expect(try await fixture.register(self.phone) == .registered)
        // A clock that went back proves nothing.
        clock.advance(by: -50)
        #expect(try await fixture.register(self.phone) == .registered)
        #expect(await fixture.transport.requests.count == 4)
    }

    @Test(arguments: [410, 404]) func aRefusedIDStartsOverOnce(status: Int) async throws {
        let fixture = Fixture(.json(#""old""#), Self.ok, HTTPAnswer(status: status), .json(#""new""#), Self.ok)
        _ = try await fixture.register(self.phone)
        #expect(try await fixture.register(self.phone, user: "bob") == .startedOver)
        #expect(
            await fixture.transport.lines.dropFirst(2) == [
                "PUT /api/register/old", "POST /api/register?handle=AB01", "PUT /api/register/new",
            ]
        )
        #expect(try await fixture.restarted().id == "new")
    }

    @Test func aSecondRefusalIsAnErrorAndKeepsTheNewID() async throws {
        let fixture = Fixture(.json(#""old""#), Self.gone, .json(#""new""#), Self.gone, Self.ok)
        let error = await #expect(throws: PushlineError.self) { try await fixture.register(self.phone) }
        #expect(error?.code == .gone)
        #expect(await fixture.transport.requests.count == 4)
        #expect(try await fixture.register(self.phone) == .registered)
        #expect(await fixture.transport.lines.last == "PUT /api/register/new")
    }

    /// The server may have done it, so what was known before is not known any more.
    @Test func afterALostAnswerTheServerIsAsked() async throws {
        let fixture = Fixture(.json(#""id1""#), Self.ok, HTTPAnswer(status: 503), Self.ok)
        _ = try await fixture.register(self.phone)
        let error = await #expect(throws: PushlineError.self) { try await fixture.register(self.phone, user: "bob") }
        #expect(error?.code == .unavailable)
        #expect(try await fixture.register(self.phone) == .registered)
        #expect(await fixture.transport.lines.last == "PUT /api/register/id1")
    }

    @Test func anIDIsKeptBeforeItsRegistrationIsAnswered() async throws {
        let fixture = Fixture(.json(#""id1""#), HTTPAnswer(status: 503), Self.ok)
        await #expect(throws: PushlineError.self) { try await fixture.register(self.phone) }
        #expect(try await fixture.restarted().id == "id1")
        #expect(try await fixture.register(self.phone) == .registered)
        #expect(await fixture.transport.lines.last == "PUT /api/register/id1")
    }

    @Test(arguments: [
        nil, "", "{", "[]", "null", #"{"id":""}"#, #"{"id":".."}"#, #"{"id":"a/b"}"#, #"{"id":7}"#,
        #"{"id":"id1","registered":{"server":"x"}}"#,
    ])
    func aLostOrDamagedFileStartsAgain(text: String?) async throws {
        let fixture = Fixture(.json(#""id1""#), Self.ok, .json(#""id1""#), Self.ok)
        _ = try await fixture.register(self.phone)
        if let text {
            try Data(text.utf8).write(to: fixture.storage.file)
        } else {
            try FileManager.default.removeItem(at: fixture.storage.file)
        }
        #expect(try await fixture.registration.id == nil)
        #expect(try await fixture.register(self.phone) == .registered)
        #expect(await fixture.transport.requests.count == 4)
        #expect(try await fixture.register(self.phone) == .unchanged)
    }

    @Test func aFileThatCannotBeReadIsAnError() async throws {
        let fixture = Fixture()
        try FileManager.default.createDirectory(at: fixture.storage.file, withIntermediateDirectories: true)
        let error = await #expect(throws: PushlineError.self) { try await fixture.register(self.phone) }
        #expect(error?.code == .storage)
        #expect(await fixture.transport.requests.isEmpty)
    }

    @Test(arguments: [
        "", "<html>", "{}", "null", "7", #""""#, #"".""#, #""..""#, #""../jobs""#, #""a b""#, #""a?x=1""#,
        #""\#(String(repeating: "a", count: 129))""#,
    ])
    func anIDThatIsNoneIsAnError(text: String) async throws {
        let fixture = Fixture(.json(text))
        let error = await #expect(throws: PushlineError.self) { try await fixture.register(self.phone) }
        #expect(error?.code == .unexpectedAnswer)
        #expect(await fixture.transport.requests.count == 1)
        #expect(try await fixture.registration.id == nil)
    }

    /// As from a hotel's network that wants a sign-in first.
    @Test func aPageInPlaceOfAnAnswerIsNoRegistration() async throws {
        let fixture = Fixture(.json(#""id1""#), .json("<html>Welcome</html>"), Self.ok)
        let error = await #expect(throws: PushlineError.self) { try await fixture.register(self.phone) }
        #expect(error?.code == .unexpectedAnswer)
        #expect(try await fixture.register(self.phone) == .registered)
    }

    @Test func unregisteringForgetsTheID() async throws {
        let fixture = Fixture(.json(#""id1""#), Self.ok, HTTPAnswer(status: 503), Self.gone, .json(#""id2""#), Self.ok)
        let client = try client(fixture.transport)
        _ = try await fixture.register(self.phone)
        await #expect(throws: PushlineError.self) { try await fixture.registration.unregister(with: client) }
        #expect(try await fixture.registration.id == "id1")
        try await fixture.registration.unregister(with: client)
        #expect(try await fixture.registration.id == nil)
        try await fixture.registration.unregister(with: client)
        #expect(try await fixture.register(self.phone) == .registered)
        #expect(
            await fixture.transport.lines.dropFirst(2) == [
                "DELETE /api/register/id1", "DELETE /api/register/id1", "POST /api/register?handle=AB01",
                "PUT /api/register/id2",
            ]
        )
    }
}

@Suite(.undisturbed) struct ConcurrentRegistrationTests {
    private let phone = Device(service: .fcm, handle: "t")

    @Test func concurrentRegistrationsMakeOneRequestEach() async throws {
        let folder = TemporaryFolder()
        let transport = CountingTransport()
        let storage = FileRegistrationStorage(file: folder.url.appending(path: "r.json"))
        let registration = DeviceRegistration(storage: storage)
        let client = try client(transport)
        let phone = self.phone
        let outcomes = try await withThrowingTaskGroup(of: DeviceRegistration.Outcome.self) { group in
            for _ in 0..<50 {
                group.addTask { try await registration.register(phone, user: "ann", with: client) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count { $0 == .registered } == 1)
        #expect(outcomes.count { $0 == .unchanged } == 49)
        #expect(await transport.count == 2)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for user in 0..<50 {
                group.addTask { _ = try await registration.register(phone, user: "u\(user)", with: client) }
            }
            try await group.waitForAll()
        }
        #expect(await transport.count == 52)
        #expect(await transport.most == 1)
    }

    @Test func aWaitingCallCanBeCancelled() async throws {
        let folder = TemporaryFolder()
        let gate = Gate()
        let transport = ScriptedTransport([
            {
                await gate.pass()
                return .json(#""id1""#)
            }, { HTTPAnswer(status: 200) }, { HTTPAnswer(status: 200) },
        ])
        let registration = DeviceRegistration(
            storage: FileRegistrationStorage(file: folder.url.appending(path: "r.json"))
        )
        let client = try client(transport)
        let phone = self.phone
        let first = Task { try await registration.register(phone, user: "ann", with: client) }
        await gate.isReached()
        let second = Task { try await registration.register(phone, user: "bob", with: client) }
        let third = Task { try await registration.register(phone, user: "ann", with: client) }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        await gate.open()
        #expect(try await first.value == .registered)
        #expect(try await third.value == .unchanged)
        #expect(await transport.lines == ["POST /api/register?handle=t", "PUT /api/register/id1"])
    }

    @Test func aCancelledRegistrationLetsTheNextOneRun() async throws {
        let folder = TemporaryFolder()
        let socket = try LoneSocket(.isSilent)
        let silent = PushlineClient(url: try #require(socket.url), credentials: .key("plk_x"))
        let registration = DeviceRegistration(
            storage: FileRegistrationStorage(file: folder.url.appending(path: "r.json"))
        )
        let phone = self.phone
        let task = Task { try await registration.register(phone, user: "ann", with: silent) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        let transport = ScriptedTransport(.json(#""id1""#), HTTPAnswer(status: 200))
        let outcome = try await registration.register(phone, user: "ann", with: client(transport))
        #expect(outcome == .registered)
    }

    @Test func aSilentServerEndsByTheDeadline() async throws {
        let folder = TemporaryFolder()
        let socket = try LoneSocket(.isSilent)
        let client = PushlineClient(
            url: try #require(socket.url),
            credentials: .key("plk_x"),
            deadline: .milliseconds(200)
        )
        let registration = DeviceRegistration(
            storage: FileRegistrationStorage(file: folder.url.appending(path: "r.json"))
        )
        let error = await #expect(throws: PushlineError.self) {
            try await registration.register(self.phone, user: "ann", with: client)
        }
        #expect(error?.code == .timeout)
    }
}
