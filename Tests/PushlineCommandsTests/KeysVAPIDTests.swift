import ArgumentParser
import Crypto
import Foundation
import PushModel
import Testing

@testable import PushlineCommands

@Suite struct KeysVAPIDTests {
    @Test func aKeyPairIsMadeAndNeverOverwritten() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "vapid-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "vapid.pem").path
        try KeysVAPIDCommand.parse([file]).run()
        let pem = try String(contentsOfFile: file, encoding: .utf8)
        let key = try P256.Signing.PrivateKey(pemRepresentation: pem)
        #expect(WebPushSubscription.key(Base64URL.encode(key.publicKey.x963Representation)) != nil)
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        #expect(attributes[.posixPermissions] as? Int == 0o600)

        let error = #expect(throws: CommandFailure.self) { try KeysVAPIDCommand.parse([file]).run() }
        #expect(error?.message.contains("exists") == true)
        #expect(try String(contentsOfFile: file, encoding: .utf8) == pem)
        #expect(throws: CommandFailure.self) {
            try KeysVAPIDCommand.parse([folder.appending(path: "none/vapid.pem").path]).run()
        }
    }
}
