import Foundation
import InstallationSupport
import PushModel
import PushlineSimulator
import RawHTTP
import Testing
import Undisturbed

/// Test sends of `pushline-hub`, through RabbitMQ and the workers to the push services and back.
@Suite(.serialized, .ownInstallation, .timeLimit(.minutes(5)), .undisturbed) struct HubTestSendEndToEndTests {
    private var installation: EndToEndInstallation { get throws { try #require(EndToEndInstallation.current) } }

    private static func test(
        _ connection: inout RawConnection,
        _ hub: HubAccess,
        _ format: String,
        _ body: String,
        to tags: String
    ) async throws -> XMLTree {
        let answer = try await connection.exchange(
            hub.request(
                "POST",
                "/messages?test&api-version=2020-06",
                body: body,
                "Content-Type: application/json",
                "ServiceBusNotification-Format: \(format)",
                "ServiceBusNotification-Tags: \(tags)"
            )
        )
        #expect(answer.hasPrefix("HTTP/1.1 201 "), "\(answer)")
        let begin = try #require(answer.firstRange(of: "<NotificationOutcome"))
        return try XMLReader.read(Array(answer[begin.lowerBound...].utf8))
    }

    private static func numbers(_ outcome: XMLTree) -> [String?] {
        [outcome.first("Success")?.text, outcome.first("Failure")?.text]
    }

    @Test func theAnswerIsWhatBecameOfEachDevice() async throws {
        let installation = try self.installation
        let hub = try await installation.startHub()
        var connection = try await RawConnection.open(port: hub.port, trusting: hub.authority)
        defer { connection.close() }
        var tokens: [String] = []
        for number in 0..<12 {
            let token = try installation.simulator.device("tested\(number)", of: .apns)
            tokens.append(token)
            let device = JSONValue.members([
                "platform": .string("apns"), "pushChannel": .string(token),
                "tags": .strings(["tested", number < 3 ? "few" : "rest"]),
                "templates": number < 3
                    ? .members(["t": .members(["body": .string(##"{"aps":{"alert":"$(text)"}}"##)])]) : nil,
            ])
            let put = try await connection.exchange(
                hub.request("PUT", "/installations/t-\(number)?api-version=2020-06", body: device.compactText)
            )
            #expect(put.hasPrefix("HTTP/1.1 200 "), "\(put)")
        }
        // Templates first: a device that its service no longer knows is not asked again.
        let filled = try await Self.test(&connection, hub, "template", #"{"text":"hi"}"#, to: "few")
        #expect(Self.numbers(filled) == ["3", "0"], "\(filled)")
        for token in tokens.prefix(3) {
            #expect(installation.simulator.received(token: token).map(\.body) == [#"{"aps":{"alert":"hi"}}"#])
        }
        installation.simulator.inject(
            SimulatorFault(.answer(reason: "Unregistered"), pns: .apns, token: tokens[1])
        )
        let payload = #"{"aps":{"alert":"test"}}"#
        let outcome = try await Self.test(&connection, hub, "apple", payload, to: "few")
        #expect(Self.numbers(outcome) == ["2", "1"], "\(outcome)")
        let results = outcome.first("Results")?.elements ?? []
        #expect(results.map { $0.first("PnsHandle")?.text } == tokens.prefix(3).map { $0.uppercased() })
        let words = results.map { $0.first("Outcome")?.text ?? "" }
        #expect(words[0] == "Success" && words[2] == "Success", "\(words)")
        #expect(words[1].hasPrefix("ExpiredChannel: 410") && words[1].contains("Unregistered"), "\(words)")
        // Of many, ten.
        let many = try await Self.test(&connection, hub, "apple", payload, to: "tested && !few")
        #expect(Self.numbers(many) == ["9", "0"])
        let all = try await Self.test(&connection, hub, "apple", payload, to: "tested")
        #expect(all.first("Results")?.elements.count == 10, "\(all)")
    }
}
