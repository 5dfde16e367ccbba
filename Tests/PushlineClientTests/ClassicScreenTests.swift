import Foundation
import Testing

@testable import PushlineClient

@Suite struct ClassicScreenTests {
    private static func filled() -> ClassicScreen {
        var screen = ClassicScreen()
        screen.name = "ann"
        screen.password = "p"
        screen.recipient = "bob"
        screen.message = "hi"
        return screen
    }

    private static func begin(_ screen: inout ClassicScreen) throws -> ClassicScreen.SignIn {
        let signIn = screen.beginSignIn()
        return try #require(signIn)
    }

    private static func signedIn() throws -> ClassicScreen {
        var screen = Self.filled()
        screen.token = Data([1])
        screen.end(try Self.begin(&screen), nil)
        return screen
    }

    @Test func signInNeedsTheDevicesToken() throws {
        var screen = Self.filled()
        #expect(!screen.canSignIn)
        let early = screen.beginSignIn()
        #expect(early == nil)
        screen.token = Data([0xAB])
        #expect(screen.canSignIn)
        let signIn = try Self.begin(&screen)
        #expect(signIn.device == Device(service: .apns, handle: "AB"))
        #expect(signIn.name == "ann" && signIn.password == "p")
        let second = screen.beginSignIn()
        #expect(!screen.canSignIn && second == nil)
    }

    @Test(arguments: [("", "p"), ("ann", "")]) func signInNeedsNameAndPassword(name: String, password: String) {
        var screen = Self.filled()
        screen.token = Data([1])
        screen.name = name
        screen.password = password
        #expect(!screen.canSignIn)
    }

    @Test func sendNeedsTheSignIn() throws {
        var screen = Self.filled()
        screen.token = Data([1])
        let signIn = try Self.begin(&screen)
        let early = screen.beginSend()
        #expect(!screen.canSend && !early)
        screen.end(signIn, nil)
        #expect(screen.phase == .signedIn(user: "ann"))
        let first = screen.beginSend()
        let second = screen.beginSend()
        #expect(first && !second && !screen.canSend)
        screen.endSend()
        #expect(screen.canSend)
    }

    @Test func sendNeedsARecipientAndAService() throws {
        var screen = try Self.signedIn()
        screen.recipient = ""
        #expect(!screen.canSend)
        screen.recipient = "bob"
        screen.switches = []
        #expect(!screen.canSend)
        screen.switches = [.apns, .wns]
        #expect(screen.canSend)
        #expect(screen.chosen == [.wns, .apns])
    }

    @Test func aFailedSignInIsSaidAndCanBeRepeated() throws {
        var screen = Self.filled()
        screen.token = Data([1])
        screen.end(try Self.begin(&screen), PushlineError(.unauthorized, "wrong password (status 401)"))
        #expect(screen.phase == .signedOut && screen.canSignIn)
        #expect(screen.lines.map(\.text) == ["Sign-in failed: wrong password (status 401)"])
        #expect(screen.lines.map(\.isFailure) == [true])
    }

    @Test func anotherNameNeedsAnotherSignIn() throws {
        var screen = try Self.signedIn()
        screen.name = "ann"
        #expect(screen.canSend)
        screen.name = "eve"
        #expect(!screen.canSend && screen.canSignIn)
    }

    @Test func theEndOfAnEarlierSignInChangesNothing() throws {
        var screen = Self.filled()
        screen.token = Data([1])
        let first = try Self.begin(&screen)
        screen.password = "q"
        let second = try Self.begin(&screen)
        screen.end(first, PushlineError(.unauthorized, "no"))
        #expect(screen.phase == .signingIn && screen.lines.isEmpty)
        screen.end(second, nil)
        #expect(screen.phase == .signedIn(user: "ann"))
    }

    @Test func resultsAreAppended() throws {
        var screen = try Self.signedIn()
        screen.append(ClassicResult(service: .apns, job: "1", error: nil))
        let refused = PushlineError(refusal: HTTPAnswer(status: 500))
        screen.append(ClassicResult(service: .wns, job: nil, error: refused))
        screen.append(ClassicResult(service: .fcm, job: nil, error: PushlineError(.timeout, "no answer")))
        #expect(
            screen.lines.map(\.text) == [
                "Signed in as ann", "APNS: sent", "WNS: the server answered with status 500", "FCM: no answer",
            ]
        )
        #expect(screen.lines.map(\.isFailure) == [false, false, true, true])
        #expect(screen.lines.map(\.id) == [0, 1, 2, 3])
    }
}
