import Foundation
import InstallationSupport
import PushModel
import PushlineSimulator
import Testing

// What the sender writes in the services' own words.
extension EndToEndTests {
    /// A device of a new user at each service.
    private func registerEverywhere(_ user: String) async throws -> [PushService: String] {
        let installation = try self.installation
        let handles = try Dictionary(
            uniqueKeysWithValues: Simulator.services.map { ($0, try installation.simulator.device(user, of: $0)) }
        )
        try await installation.importRegistrations(
            handles.map { #"{"service":"\#($0.key.rawValue)","handle":"\#($0.value)","user":"\#(user)"}"# }
        )
        return handles
    }

    private static let native = #"""
        {"apns":{"payload":{"call":7},"headers":{"apns-push-type":"voip","apns-priority":"5"}},
         "fcm":{"message":{"data":{"call":"7"},"android":{"direct_boot_ok":true}}},
         "wns":{"body":"<tile><visual/></tile>","headers":{"X-WNS-Type":"wns/tile","X-WNS-Tag":"call7"}},
         "web":{"payload":{"call":7},"headers":{"Urgency":"very-low"}}}
        """#

    @Test(arguments: ["sends", "sends/batch"])
    func nativePayloadsReachTheServicesAsTheyAre(_ route: String) async throws {
        let installation = try self.installation
        let user = route == "sends" ? "native" : "nativeline"
        let handles = try await self.registerEverywhere(user)
        let send = #"{"to":{"user":"\#(user)"},"ttl":600,"collapse":"c","native":\#(Self.native)}"#
            .replacing("\n", with: "")
        let answer = try await installation.asBackend(
            "POST",
            "/api/\(route)",
            body: send,
            type: route == "sends" ? "application/json" : "application/x-ndjson"
        )
        struct Accepted: Decodable { let id: String }
        let job = try await installation.finished(try answer.decoded(Accepted.self).id)
        #expect(job.state == "completed")
        #expect(job.totals.accepted == handles.count)
        for (pns, handle) in handles {
            let push = try #require(installation.simulator.received(token: handle).first, "\(pns)")
            #expect(push.status == (pns == .web ? 201 : 200))
            switch pns {
            case .apns:
                #expect(push.body == #"{"call":7}"#)
                #expect(try push.headers["apns-topic"] == installation.simulator.credentials.apnsTopic + ".voip")
                #expect(push.headers["apns-priority"] == "5" && push.headers["apns-collapse-id"] == "c")
            case .fcm:
                #expect(
                    push.body.contains(
                        #""data":{"call":"7"},"android":{"direct_boot_ok":true,"collapse_key":"c","ttl":""#
                    )
                )
            case .web:
                #expect(push.body == #"{"call":7}"#)
                // The first 24 bytes of the key's SHA-256: Apple takes no topic that is not whole base64url.
                let topic = "Ln0sA6lQeuJl7PW1NWiFpTOTogKdJBOU"
                #expect(push.headers["urgency"] == "very-low" && push.headers["topic"] == topic)
            default:
                #expect(push.body == "<tile><visual/></tile>")
                #expect(push.headers["x-wns-tag"] == "call7" && push.headers["x-wns-cache-policy"] == "cache")
            }
        }
    }

    @Test func aDryRunReachesNobodyAndRemovesNothing() async throws {
        let installation = try self.installation
        let handles = try await self.registerEverywhere("dryrun")
        let gone = try #require(handles[.fcm])
        installation.simulator.inject(SimulatorFault(.answer(reason: "UNREGISTERED"), token: gone))
        let send = #"{"to":{"user":"dryrun"},"body":"nobody reads this","dryRun":true}"#
        struct Accepted: Decodable {
            let id: String
            let dryRun: Bool
        }
        let accepted = try await installation.asBackend("POST", "/api/sends", body: send).decoded(Accepted.self)
        #expect(accepted.dryRun)
        let job = try await installation.finished(accepted.id)
        installation.simulator.clearFaults()
        #expect(job.state == "completed")
        #expect(job.totals.targets == handles.count && job.totals.accepted == handles.count - 1)
        #expect(job.totals.failed == ["unregistered": 1])
        for (pns, handle) in handles {
            let pushes = installation.simulator.received(token: handle)
            let expected = handle == gone ? [404] : pns.descriptor.validatesDryRuns ? [200] : []
            #expect(pushes.map(\.status) == expected, "\(pns)")
            #expect(pns != .fcm || pushes.allSatisfy { $0.body.hasPrefix(#"{"validate_only":true,"#) })
        }
        // The registration that FCM called dead is there still, and gets the next send.
        let real = try await self.send(#"{"to":{"user":"dryrun"},"body":"for real"}"#)
        #expect(try await installation.finished(real).totals.accepted == handles.count)
    }
}
