import Crypto
import Foundation
import PushModel
import PushServices

/// Encrypts messages for a browser, as the Web Push sender does: each with a key pair and a salt of its own.
///
/// Its argument: how many. It prints a line of JSON: the example of RFC 8291 (appendix A) as it encrypts it, and messages a second.
@main
enum EncryptionSpeed {
    /// As long as notifications usually are.
    private static let size = 200

    static func main() throws {
        guard CommandLine.arguments.count == 2, let count = Int(CommandLine.arguments[1]), count > 0 else {
            print("usage: EncryptionSpeed MESSAGES")
            exit(2)
        }
        let subscription = WebPushSubscription(
            endpoint: try WebPushEndpoint("https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV"),
            publicKey: try bytes(
                "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
            ),
            authenticationSecret: try bytes("BTBZMqHH6r4Tts7J_aSIgg")
        )
        let example = try WebPushEncryption.encrypt(
            Array("When I grow up, I want to be a watermelon".utf8),
            for: subscription,
            key: P256.KeyAgreement.PrivateKey(rawRepresentation: bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")),
            salt: bytes("DGv6ra1nlYgDCS1FRnbzlw")
        )
        let message = [UInt8](repeating: UInt8(ascii: "x"), count: Self.size)
        var length = 0
        let start = ContinuousClock.now
        for _ in 0..<count { length &+= try WebPushEncryption.encrypt(message, for: subscription).count }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        guard length == count * (86 + Self.size + 17) else {
            print("a message has another length than it must have")
            exit(1)
        }
        print(#"{"example": "\#(Base64URL.encode(example))", "per_s": \#(Int(Double(count) / seconds))}"#)
    }

    private static func bytes(_ text: String) throws -> [UInt8] {
        guard let bytes = Base64URL.decode(text) else { throw InvalidValue("a constant is no base64url") }
        return bytes
    }
}
