import Crypto
import CryptoExtras
package import PushModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A password's hash: `scrypt$n$r$p$salt$hash`, salt and hash in base64.
package struct PasswordHash: Sendable, Equatable {
    /// The cost of computing a hash, and so of guessing a password.
    package struct Cost: Sendable, Equatable {
        /// scrypt's N, a power of two: memory is 128 · N · r bytes.
        package let rounds: Int
        /// scrypt's r.
        package let blockSize: Int
        /// scrypt's p: how often the work is done.
        package let parallelism: Int

        package init(rounds: Int, blockSize: Int, parallelism: Int) {
            self.rounds = rounds
            self.blockSize = blockSize
            self.parallelism = parallelism
        }

        /// 16 MB and about a tenth of a second: one of the settings that OWASP holds equal.
        package static let standard = Cost(rounds: 1 << 14, blockSize: 8, parallelism: 5)
    }

    /// The least length of a new password, in characters of Unicode, as NIST SP 800-63B has it.
    package static let minimumLength = 8
    /// The greatest length of a new password, in characters of Unicode.
    package static let maximumLength = 1024
    private static let length = 32

    package let cost: Cost
    let salt: [UInt8]
    let hash: [UInt8]

    /// Hashes a new password with its own salt.
    ///
    /// Deliberately slow: never call it on an event loop.
    ///
    /// - Parameters:
    ///   - password: 8 to 1024 characters.
    ///   - cost: The cost of a guess.
    /// - Returns: The text for the store.
    /// - Throws: ``InvalidValue`` when the password is too short or too long.
    package static func make(_ password: String, cost: Cost = .standard) throws -> String {
        try self.checkLength(of: password)
        var generator = SystemRandomNumberGenerator()
        let salt = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        let hash = try Self.derive(password, salt: salt, cost: cost)
        return [
            "scrypt", String(cost.rounds), String(cost.blockSize), String(cost.parallelism),
            Data(salt).base64EncodedString(), Data(hash).base64EncodedString(),
        ].joined(separator: "$")
    }

    /// Checks a new password before it is hashed.
    ///
    /// - Throws: ``InvalidValue`` when it is too short or too long.
    package static func checkLength(of password: String) throws(InvalidValue) {
        guard (Self.minimumLength...Self.maximumLength).contains(password.unicodeScalars.count) else {
            throw InvalidValue(
                member: "password",
                "must have \(Self.minimumLength) to \(Self.maximumLength) characters"
            )
        }
    }

    /// Reads the text that ``make(_:cost:)`` gave.
    ///
    /// - Returns: nil when it is not of that form, or of a cost beyond all measure.
    package init?(_ text: String) {
        let parts = text.split(separator: "$", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 6, parts[0] == "scrypt",
            let rounds = Int(parts[1]), (2...(1 << 20)).contains(rounds), rounds.nonzeroBitCount == 1,
            let blockSize = Int(parts[2]), (1...32).contains(blockSize),
            let parallelism = Int(parts[3]), (1...64).contains(parallelism),
            let salt = Data(base64Encoded: parts[4]), let hash = Data(base64Encoded: parts[5]),
            hash.count == Self.length
        else { return nil }
        self.cost = Cost(rounds: rounds, blockSize: blockSize, parallelism: parallelism)
        self.salt = Array(salt)
        self.hash = Array(hash)
    }

    /// Whether this is the hash of that password; takes the time of ``make(_:cost:)``.
    package func matches(_ password: String) throws -> Bool {
        try ConstantTime.equal(Self.derive(password, salt: self.salt, cost: self.cost), self.hash)
    }

    private static func derive(_ password: String, salt: [UInt8], cost: Cost) throws -> [UInt8] {
        let key = try KDF.Scrypt.deriveKey(
            from: Array(password.utf8),
            salt: salt,
            outputByteCount: Self.length,
            rounds: cost.rounds,
            blockSize: cost.blockSize,
            parallelism: cost.parallelism
        )
        return unsafe key.withUnsafeBytes { bytes in unsafe Array(bytes) }
    }
}
