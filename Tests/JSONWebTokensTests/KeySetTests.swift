import Foundation
import PushModel
import Testing
import TokenIssuer

@testable import JSONWebTokens

@Suite struct KeySetTests {
    private let issuer: TokenIssuer

    init() throws { self.issuer = try TokenIssuer.shared.get() }

    @Test func keysForOtherUsesArePassedOver() throws {
        let others: [JSONValue] = [
            try self.issuer.rsaKey(id: "enc", ["use": .string("enc")]),
            try self.issuer.rsaKey(id: "pss", ["alg": .string("PS256")]),
            try self.issuer.rsaKey(id: "signs", ["key_ops": .strings(["sign"])]),
            .members(["kty": .string("OKP"), "crv": .string("Ed25519"), "x": .string("AA")]),
            .members(["kty": .string("RSA"), "n": .string("AQAB"), "e": .string("AQAB")]),
            .members(["kty": .string("RSA"), "n": .string(Base64URL.encode([UInt8](repeating: 0xFF, count: 1025)))]),
            .members(["kty": .string("EC"), "crv": .string("P-256"), "x": .string("AA"), "y": .string("AA")]),
            .string("no key"), .null,
        ]
        let good = self.issuer.p256Key([
            "use": .string("sig"), "alg": .string("ES256"), "key_ops": .strings(["verify"]),
        ])
        let keys = try KeySet(json: self.issuer.keySet(others + [good]))
        #expect(keys.count == 1)
        #expect(keys.key(id: "ec", for: .es256) != nil)
        #expect(keys.key(id: "enc", for: .rs256) == nil)
        #expect(try KeySet(json: self.issuer.keySet(others)).count == 0)
    }

    /// A point off the curve would betray what is computed with it.
    @Test func aPointOffTheCurveIsPassedOver() throws {
        let byte = Base64URL.encode([UInt8](repeating: 7, count: 32))
        let key = JSONValue.members([
            "kty": .string("EC"), "crv": .string("P-256"), "x": .string(byte), "y": .string(byte),
        ])
        #expect(try KeySet(json: self.issuer.keySet([key])).count == 0)
    }

    @Test(arguments: ["", "[]", "{}", #"{"keys":{}}"#, "<html>", #"{"keys":[}"#])
    func whatIsNoKeySetIsRefused(text: String) {
        #expect(throws: KeySetFault.self) { try KeySet(json: Array(text.utf8)) }
    }
}
