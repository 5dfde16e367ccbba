import Foundation
import InstallationSupport
import PushlineSimulator
import Testing

extension EndToEndTests {
    private static func activity(_ event: String, _ members: String, to token: String) -> String {
        #"{"to":{"handles":[{"service":"apns","handle":"\#(token)"}]},"liveActivity":{"event":"\#(event)"\#(members)}}"#
    }

    /// Started by one token, changed and ended by the activity's own, which is dead after that.
    @Test func aLiveActivityIsStartedChangedAndEnded() async throws {
        let installation = try self.installation
        let (starter, token) = (Self.hexadecimal(80), Self.hexadecimal(80))
        let start =
            #","contentState":{"gate":7},"alert":{"title":"LH1"},"attributesType":"Flight","attributes":{"no":"LH1"},"inputPushToken":true"#
        for send in [
            Self.activity("start", start, to: starter),
            Self.activity("update", #","contentState":{"gate":8},"staleDate":"2030-01-01T00:00:00Z""#, to: token),
            Self.activity("end", #","dismissalDate":"2020-01-01T00:00:00Z""#, to: token),
        ] {
            let job = try await installation.finished(try await self.send(send))
            #expect(job.state == "completed" && job.totals.targets == 1 && job.totals.accepted == 1, "\(send)")
        }
        let pushes = installation.simulator.received(token: starter) + installation.simulator.received(token: token)
        #expect(pushes.map(\.status) == [200, 200, 200])
        #expect(pushes.compactMap { $0.headers["apns-priority"] } == ["10", "5", "5"])
        let topic = try installation.simulator.credentials.apnsTopic + ".push-type.liveactivity"
        for push in pushes {
            #expect(push.headers["apns-push-type"] == "liveactivity" && push.headers["apns-topic"] == topic)
        }
        #expect(pushes[0].body.contains(#""attributes-type":"Flight","attributes":{"no":"LH1"},"input-push-token":1"#))
        #expect(pushes[1].body.contains(#""content-state":{"gate":8},"stale-date":1893456000"#))
        #expect(pushes[2].body.contains(#""event":"end","dismissal-date":1577836800"#))

        installation.simulator.inject(SimulatorFault(.answer(reason: "Unregistered"), token: token))
        let late = try await installation.finished(
            try await self.send(Self.activity("update", #","contentState":{}"#, to: token))
        )
        installation.simulator.clearFaults()
        #expect(late.totals.accepted == 0 && late.totals.failed == ["unregistered": 1])
    }
}
