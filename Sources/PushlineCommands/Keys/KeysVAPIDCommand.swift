import ArgumentParser
import Crypto
import Foundation
import PushModel

/// `pushline keys vapid`.
struct KeysVAPIDCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vapid",
        abstract: "Make the key pair by which browsers' push services know an app (VAPID).",
        discussion: """
            The private key goes to the file, for private_key_file of the app's section web; the public key goes to standard output, for
            public_key, and for the pages that subscribe (applicationServerKey). Subscriptions are bound to it: keep it.
            """
    )

    @Argument(help: "The file for the private key, which must not exist.", completion: .file())
    var file: String

    @Option(help: "How to print.")
    var format = OutputFormat.text

    func run() throws {
        let key = P256.Signing.PrivateKey()
        try Self.write(key.pemRepresentation + "\n", to: self.file)
        let publicKey = Base64URL.encode(key.publicKey.x963Representation)
        Console.note("\(self.file): the private key, readable for you alone; this is the public key:")
        guard self.format == .json else { return Console.print(publicKey) }
        let output = JSONValue.members(["private_key_file": .string(self.file), "public_key": .string(publicKey)])
        Console.print(output.indentedText)
    }

    /// Creates a file for its owner alone; never over another key, for subscriptions are bound to that.
    private static func write(_ text: String, to path: String) throws {
        let descriptor = unsafe Foundation.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw CommandFailure.failed(
                errno == EEXIST
                    ? "\(path) exists; name a new file, for subscriptions are bound to their key"
                    : "\(path) cannot be written; is its folder there, and yours?"
            )
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try handle.write(contentsOf: Data(text.utf8))
        try handle.close()
    }
}
