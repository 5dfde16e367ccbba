import Foundation
import PushModel
import PushlineSimulator
import Testing

@testable import PushlineCommands

/// `pushline channels`, with an app whose APNs is the simulator.
@Suite struct ChannelsCommandTests {
    private static func with(_ body: (HostCommandsTests.Host) async throws -> Void) async throws {
        try await withSimulator { simulator in
            let host = try HostCommandsTests.Host()
            _ = try await host.run("apps", "apply", try simulator.credentials.appsFile)
            try await body(host)
        }
    }

    @Test func channelsAreCreatedListedShownAndDeleted() async throws {
        try await Self.with { host in
            let created = try await host.run("channels", "create", "--storage", "latest")
            let id = try #require(created.first)
            #expect(created.count == 1 && Data(base64Encoded: id) != nil)
            let other = try await host.run("channels", "create")[0]
            #expect(try await host.run("channels", "list") == [id, other])
            #expect(try await host.run("channels", "show", id) == ["\(id): storage latest"])
            #expect(try await host.run("channels", "show", other) == ["\(other): storage none"])
            #expect(try await host.run("channels", "delete", id) == ["\(id): deleted"])
            let json = try await host.run("channels", "list", "--format", "json").joined(separator: "\n")
            #expect(json.filter { !$0.isWhitespace } == #"[{"id":"\#(other)"}]"#)
            let gone = await #expect(throws: CommandFailure.self) { try await host.run("channels", "show", id) }
            #expect(gone?.message.contains("400 ChannelNotRegistered") == true)
        }
    }

    @Test func whatIsMissingIsNamed() async throws {
        try await Self.with { host in
            let credential = await #expect(throws: CommandFailure.self) {
                try await host.run("channels", "list", "--credential", "watch")
            }
            #expect(credential?.message.hasPrefix("--credential: ") == true)
            _ = try await host.run("apps", "apply", host.path("apps.yaml"))
            let none = await #expect(throws: CommandFailure.self) {
                try await host.run("channels", "list", "--app", "shop")
            }
            #expect(none?.message == "shop: the app has no APNs credentials; declare them with pushline apps apply")
        }
    }
}
