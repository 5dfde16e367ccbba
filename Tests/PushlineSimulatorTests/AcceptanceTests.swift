import Foundation
import PushModel
import Testing
import Undisturbed

@testable import PushlineSimulator

@Suite("What a good sender gets", .undisturbed)
struct AcceptanceTests {
    @Test func apnsAcceptsAPushSignedWithTheKeyFile() async throws {
        try await withClient { client in
            let id = "0f8fad5b-d9cb-469f-a165-70867728950e"
            let reply = try await client.push(
                headers: ["apns-id": id],
                authorization: try await client.providerToken()
            )
            #expect(reply.status == 200)
            #expect(reply.body == "")
            #expect(reply.headers["apns-id"] == id)
            #expect(reply.isHTTP2)
            let received = client.simulator.received(pns: .apns)
            #expect(received.count == 1)
            #expect(received.first?.token == Client.deviceToken)
            #expect(received.first?.headers["apns-id"] == id)
            #expect(received.first?.body == #"{"aps":{"alert":"hello"}}"#)
        }
    }

    @Test func fcmAcceptsAMessageWithAnExchangedToken() async throws {
        try await withClient { client in
            let token = try await client.fcmToken()
            let reply = try await client.message(
                #"{"message":{"token":"device-1","data":{"message":"hello"}}}"#,
                authorization: token
            )
            #expect(reply.status == 200)
            #expect((reply.json["name"] as? String)?.hasPrefix("projects/pushline-simulator/messages/") == true)
            #expect(client.simulator.received(token: "device-1").first?.status == 200)
        }
    }

    @Test(arguments: [false, true])
    func wnsAcceptsAToastWithATokenOfEitherGeneration(isStore: Bool) async throws {
        try await withClient { client in
            let answer = try await client.wnsToken(isStore: isStore)
            #expect(answer.status == 200)
            #expect((answer.json["expires_in"] is String) == !isStore)
            let token = try #require(answer.json["access_token"] as? String)
            let reply = try await client.toast(authorization: token)
            #expect(reply.status == 200)
            #expect(reply.headers["x-wns-status"] == "received")
            #expect(reply.headers["x-wns-msg-id"] != nil)
            #expect(client.simulator.received(token: "channel-1").first?.status == 200)
        }
    }
}
