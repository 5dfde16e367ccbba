import InstallationSupport
import PushlineSimulator
import Testing

/// What one user may not learn of others.
@Suite(.serialized, .installation(), .timeLimit(.minutes(3))) struct ForeignMessagesTests {
    @Test(arguments: ["from:bob", "FROM:bob", "From:Bob", "username:bob"])
    func aTagOfAnotherUserIsRefused(_ tag: String) async throws {
        let installation = try #require(EndToEndInstallation.current)
        let token = String(repeating: "c", count: 64)
        let id: String = try await installation.asUser("carol", "POST", "/api/register").decoded()
        let answer = try await installation.asUser(
            "carol",
            "PUT",
            "/api/register/\(id)",
            body: #"{"Platform":"apns","Handle":"\#(token)","Tags":["\#(tag)"]}"#
        )
        #expect(answer.status == 403)
    }
}
