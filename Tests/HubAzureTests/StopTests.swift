import Foundation
import HubAzure
import PushModel
import PushlineSimulator
import RawHTTP
import Testing
import Undisturbed

@testable import PushlineSimulator

/// A hub that stops in the middle of an answer, or before it.
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct StopTests {
    @Test(arguments: StoppingPeer.Stop.allCases)
    func aCallEndsWhereverTheHubStops(stop: StoppingPeer.Stop) async throws {
        let tls = try KeyMaterial.load(folder: nil).serverContext(protocols: ["http/1.1"], takesCertificates: false)
        try await StoppingPeer.run(.http1, tls: tls, stopping: stop, answer: { _ in .init(201) }) { peer in
            try await ScriptedHub.withClient(of: peer.port, configure: { $0.requestTimeout = .milliseconds(400) }) {
                scripted in
                let start = ContinuousClock.now
                let send = AzureSend(.template, body: Array("{}".utf8), to: .all)
                switch stop {
                case .connect, .tls:
                    // Nobody has taken it: it is made again.
                    let error = try await failure { _ = try await scripted.hub.send(send) }
                    #expect(error.kind == .retryLater && !error.mayHaveBeenTaken)
                case .settings, .silence, .head:
                    let error = try await failure { _ = try await scripted.hub.send(send) }
                    #expect(error.kind == .unanswered)
                // The head says that it was taken.
                case .body, .frame, .trailers: _ = try await scripted.hub.send(send)
                }
                #expect(ContinuousClock.now - start < .seconds(1.4))
                try await peer.heal()
                let end = ContinuousClock.now + .seconds(30)
                while (try? await scripted.hub.send(send)) == nil, ContinuousClock.now < end {}
                _ = try await scripted.hub.send(send)
            }
        }
    }
}
