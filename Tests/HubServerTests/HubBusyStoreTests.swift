import Foundation
import HTTPTypes
import HubServer
import Intake
import PushModel
import Store
import Testing
import Undisturbed
import WebServing

/// Official clients give up after five seconds and send again: what they gave up must not go out.
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct HubBusyStoreTests {
    /// What another process that writes holds.
    private final class Writer: Sendable {
        private let descriptor: Int32

        init(_ store: String) throws {
            self.descriptor = unsafe open("\(store).writer", O_RDWR | O_CLOEXEC)
            try #require(self.descriptor >= 0 && flock(self.descriptor, LOCK_EX | LOCK_NB) == 0)
        }

        func end() { close(self.descriptor) }
    }

    private static let headers = ["ServiceBusNotification-Format": "apple", "ServiceBusNotification-Tags": "a"]

    /// A second less than clients wait, for the answer to reach them.
    @Test func aCommitIsWaitedForFourSecondsUnlessSaidOtherwise() {
        #expect(HubConfiguration(ServingLimits(), intake: IntakeLimits()).commitWait == .seconds(4))
    }

    @Test func aRequestThatDoesNotReachItsCommitIs503AndNoSend() async throws {
        try await HubHarness.run(commitWait: .milliseconds(200)) { hub async throws in
            let writer = try Writer(hub.path)
            let answers = try await withThrowingTaskGroup(of: HubHarness.Answer.self) { group in
                // The first writes; the others wait behind it, in its group and in the next.
                for _ in 0..<6 {
                    group.addTask {
                        try await hub.call(.post, "/default/messages", body: #"{"aps":{}}"#, headers: Self.headers)
                    }
                }
                group.addTask {
                    try await hub.call(.post, "/default/registrations", body: HubHarness.apple())
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for answer in answers {
                #expect(answer.status == 503, "\(answer.text)")
                #expect(answer.header("Retry-After") == "1")
                #expect(
                    try answer.element("Detail")?.contains("nothing of the request was done") == true,
                    "\(answer.text)"
                )
            }
            writer.end()
            // The writer goes on, and none of them comes after all. A busy machine may need longer than the wait itself.
            var sent: HubHarness.Answer
            repeat {
                sent = try await hub.call(.post, "/default/messages", body: #"{"aps":{}}"#, headers: Self.headers)
            } while sent.status == 503
            #expect(sent.status == 201, "\(sent.text)")
            #expect(try await hub.store.jobs(JobQuery(app: .default)).items.count == 1)
        }
    }
}
