import Crypto
import Foundation

/// A body in the content coding `aes128gcm` (RFC 8188) that is one record.
///
/// The coding allows any number of records; a push is one (RFC 8291, section 4), and browsers refuse more.
struct EncryptedContent {
    private let salt: ArraySlice<UInt8>
    /// Which key it was made with: in a push, the sender's public key.
    let keyID: ArraySlice<UInt8>
    private let record: ArraySlice<UInt8>

    private static let tagLength = 16
    /// Salt, size of records, length of the key's id.
    private static let headLength = 16 + 4 + 1

    /// - Parameter body: The body; nil if it is too short, or more than one record.
    init?(_ body: [UInt8]) {
        guard body.count > Self.headLength else { return nil }
        let recordSize = body[16..<20].reduce(0) { $0 << 8 | Int($1) }
        let start = Self.headLength + Int(body[20])
        let length = body.count - start
        guard length > Self.tagLength, length <= recordSize else { return nil }
        self.salt = body[..<16]
        self.keyID = body[Self.headLength..<start]
        self.record = body[start...]
    }

    /// Opens the record, and takes off its end.
    ///
    /// - Parameter material: The key that the sender and the reader have in common.
    /// - Returns: The content; nil if it was made with another key, was changed, or does not end as the last record must.
    func open(with material: SymmetricKey) -> [UInt8]? {
        // The last record ends with 2 and zeros; one that others follow, with 1.
        guard let padded = self.padded(with: material), let end = padded.lastIndex(where: { $0 != 0 }), padded[end] == 2
        else { return nil }
        return Array(padded[..<end])
    }

    /// The record as it was before its encryption; nil as in ``open(with:)``.
    func padded(with material: SymmetricKey) -> Data? {
        func derive(_ info: String, _ count: Int) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: material,
                salt: self.salt,
                info: Data("Content-Encoding: \(info)\0".utf8),
                outputByteCount: count
            )
        }
        let nonce = unsafe derive("nonce", 12).withUnsafeBytes { unsafe Data($0) }
        guard let number = try? AES.GCM.Nonce(data: nonce),
            let box = try? AES.GCM.SealedBox(
                nonce: number,
                ciphertext: self.record.dropLast(Self.tagLength),
                tag: self.record.suffix(Self.tagLength)
            )
        else { return nil }
        return try? AES.GCM.open(box, using: derive("aes128gcm", 16))
    }
}
