import Foundation
import PushModel
import Testing

@Suite struct NamesTests {
    @Test(arguments: [
        "a", "Z9", "_@#.:-", "username:bob", "username:bo=", "Installation:a=", "from:=",
        String(repeating: "x", count: 120),
    ])
    func tags(text: String) throws {
        #expect(try Tag(text, .folded).name == text)
    }

    @Test(arguments: [
        "", " ", "a b", "a=", "=", "user:a=", "a:username:b=", "a||b", "a&&b", "!a", "(a)", "a,b", "ä", "a\u{301}",
        "a\n", "a\u{0}", "a/b", "ａ",
        String(repeating: "x", count: 121),
    ])
    func noTags(text: String) {
        #expect(throws: InvalidValue.self) { try Tag(text, .folded) }
        #expect((try? JSONDecoder().decode([PushModel.Tag].self, from: JSONEncoder().encode([text]))) == nil)
    }

    @Test(arguments: ["default", "a", "0", "my-app-2", String(repeating: "x", count: 40)]) func apps(text: String)
        throws
    {
        #expect(try AppID(text).name == text)
    }

    @Test(arguments: ["", "-a", "A", "a_b", "a/b", "..", "é", String(repeating: "x", count: 41)])
    func noApps(text: String) {
        #expect(throws: InvalidValue.self) { try AppID(text) }
    }

    @Test func registrationIDs() throws {
        let ids = Set((0..<1000).map { _ in RegistrationID.random() })
        #expect(ids.count == 1000)
        for id in ids {
            #expect(id.text.utf8.count == 32)
            #expect(RegistrationID(id.text) == id)
        }
        // As an Azure hub gives them.
        #expect(RegistrationID("8247220326459738692-7748251457295126978-3") != nil)
        #expect(RegistrationID("1234567890123456789-1234567890123456789-1") != nil)
    }

    @Test(arguments: ["", "a/b", "a%2Fb", "a b", "a?b", "ü", "a\n", String(repeating: "x", count: 129)])
    func noRegistrationIDs(text: String) {
        #expect(RegistrationID(text) == nil)
    }

    @Test(arguments: [
        ("apns", PushService.apns), ("APNS", .apns), ("fcm", .fcm), ("gcm", .fcm), ("GcM", .fcm), ("wns", .wns),
        ("mpns", .mpns),
    ])
    func platformNames(name: String, pns: PushService) {
        #expect(PushService(platformName: name) == pns)
    }

    @Test(arguments: ["", "apn", "apns ", "ios", "adm", "ａpns"]) func noPlatformNames(name: String) {
        #expect(PushService(platformName: name) == nil)
    }

    @Test func prioritiesHaveRanks() {
        #expect(Priority.allCases.sorted() == [.high, .normal, .low])
        for priority in Priority.allCases { #expect(Priority(rank: priority.rank) == priority) }
        #expect(Priority(rank: 3) == nil)
        #expect(Priority(rank: -1) == nil)
    }

    @Test func anInvalidValueHasItsPath() {
        let inner = InvalidValue("is wrong")
        #expect(inner.description == "is wrong")
        #expect(inner.named("tag").named("to").description == "to.tag: is wrong")
    }
}
