import Foundation
import Installation
import NIOSSL
import RawHTTP
import Testing
import Undisturbed

@testable import PushlineCommands
@testable import PushlineSimulator

/// What the doctor says of a management API that gives no list of queues.
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct ClusterCheckupTests {
    private static func ask(
        stopping stop: StoppingPeer.Stop? = nil,
        _ answer: StoppingPeer.Answer,
        patience: Duration = .seconds(30)
    ) async throws -> String {
        let material = try KeyMaterial.load(folder: nil)
        let authority = FileManager.default.temporaryDirectory.appending(path: "authority-\(UUID().uuidString).pem")
        try Data(material.authorityPEM.utf8).write(to: authority)
        defer { try? FileManager.default.removeItem(at: authority) }
        let tls = try material.serverContext(protocols: ["http/1.1"], takesCertificates: false)
        return try await StoppingPeer.run(.http1, tls: tls, stopping: stop, answer: { _ in answer }) { peer in
            let address = ManagementAddress(
                url: "https://127.0.0.1:\(peer.port)",
                username: "ann",
                password: "secret",
                virtualHost: "/",
                authorityFile: authority.path
            )
            let found = await ClusterCheckup(address: address, patience: patience).run()
            #expect(found.map(\.isRight) == [false])
            return found.first?.words ?? ""
        }
    }

    @Test(arguments: [
        (401, "", "set_user_tags ann management"), (302, "", "answers 302 instead of 200"),
        (200, "<html>", "does not answer as RabbitMQ's management API"), (200, "[]", "has none of the queues"),
    ])
    func otherAnswersAreFaults(_ status: Int, _ body: String, _ words: String) async throws {
        let found = try await Self.ask(.init(status, body: body))
        #expect(found.contains(words), "\(found)")
        #expect(!found.contains("secret"))
    }

    @Test func aLargerAnswerThanThereIsIsAFault() async throws {
        let found = try await Self.ask(.init(200, body: String(repeating: " ", count: 5 << 20)))
        #expect(found.contains("its answer is larger than 4 MiB"), "\(found)")
    }

    /// Its whole time is bounded, from the connection to the last byte.
    @Test(arguments: [
        (StoppingPeer.Stop.tls, "gave no complete answer within"), (.silence, "gave no complete answer within"),
        (.frame, "its answer did not end in time"),
    ])
    func anAnswerThatStopsIsAFault(_ stop: StoppingPeer.Stop, _ words: String) async throws {
        let start = ContinuousClock.now
        let found = try await Self.ask(stopping: stop, .init(200), patience: .milliseconds(400))
        #expect(ContinuousClock.now - start < .seconds(5))
        #expect(found.contains(words), "\(found)")
    }
}
