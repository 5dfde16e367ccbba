import HTTPTypes
import LogRecorder
import Logging
import PushModel
import Store
import Testing
import Undisturbed

/// A request on the hub's wire is a line of the log.
@Suite(.timeLimit(.minutes(5)), .undisturbed) struct HubAccessLogTests {
    @Test func aRequestIsALineWithTheClientsOwnID() async throws {
        let log = LogRecorder()
        try await HubHarness.run(logger: log.logger(.critical)) { hub async throws in
            let answer = try await hub.call(
                .post,
                "/default/messages?api-version=2020-06",
                body: #"{"aps":{"alert":"x"}}"#,
                headers: [
                    "ServiceBusNotification-Format": "apple", "ServiceBusNotification-Tags": "username:Marker",
                    "TrackingId": "0a1b-2c",
                ]
            )
            #expect(answer.status == 201, "\(answer.text)")
            let job = try await hub.job(of: answer)
            let refused = try await hub.call(.get, "/default/Marker", as: nil)
            #expect(refused.status >= 400)
            #expect(log.lines.count == 2 && log.lines.allSatisfy { $0.level == .info })
            let fields = try #require(log.lines.first).fields
            #expect(fields["http.server.request.duration"] != nil)
            #expect(fields["request.id"] == answer.header("x-ms-correlation-request-id"))
            #expect(fields["job.id"] == "\(job.id)" && fields["tracking.id"] == "0a1b-2c")
            #expect(fields["app"] == "default" && fields["caller"] == "hub:Full")
            #expect(fields["http.response.status_code"] == "201" && fields["http.request.body.size"] == "21")
            let other = try #require(log.lines.last).fields
            #expect(other["caller"] == nil && other["tracking.id"] == nil && other["http.route"] == "unknown")
            #expect(!log.lines.contains { "\($0)".contains("Marker") })
        }
    }
}
