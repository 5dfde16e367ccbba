import Foundation
import Testing

@testable import PushlineClient

@Suite struct ChannelTests {
    @Test func channels() async throws {
        let transport = ScriptedTransport(
            .json(#"{"id":"a+/=","storage":"latest"}"#, status: 201),
            .json(#"{"items":[{"id":"a+/="}],"cursor":"a+/="}"#),
            .json(#"{"id":"a+/=","storage":"none"}"#),
            HTTPAnswer(status: 204)
        )
        let client = try client(transport)
        let made = try await client.createChannel(storage: .latest, idempotencyKey: "match")
        #expect(made.id == "a+/=" && made.storage == .latest)
        let page = try await client.channels(credential: "watch", limit: 5, cursor: "b=")
        #expect(page.items.map(\.id) == ["a+/="] && page.items[0].storage == nil && page.cursor == "a+/=")
        #expect(try await client.channel("a+/=").storage == .nothing)
        try await client.deleteChannel("a+/=", credential: "watch")
        #expect(
            await transport.lines == [
                "POST /api/channels", "GET /api/channels?credential=watch&limit=5&cursor=b%3D",
                "GET /api/channels/a%2B%2F%3D", "DELETE /api/channels/a%2B%2F%3D?credential=watch",
            ]
        )
        let request = try #require(await transport.requests.first)
        #expect(request.headers["Idempotency-Key"] == "match")
        #expect(request.body == Data(#"{"storage":"latest"}"#.utf8))
    }

    @Test func aCreationThatIsNotDoneYetIsNoFailureToRepeatBlindly() async throws {
        let transport = ScriptedTransport(HTTPAnswer(status: 202, headers: ["pushline-job": "0190-x"], body: Data()))
        let error = await #expect(throws: PushlineError.self) {
            try await client(transport).createChannel(idempotencyKey: "match")
        }
        #expect(error?.code == .timeout && error?.message.contains("0190-x") == true)
    }
}
