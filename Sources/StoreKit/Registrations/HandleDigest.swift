package import PushModel
package import Store

/// Digests of handles: SipHash-2-4 with the store's own key, so that clients cannot construct collisions.
///
/// A store keeps its key, because its tables contain the digests.
package struct HandleDigest: Sendable {
    private let key: (UInt64, UInt64)
    /// The bits of a number that are used; tests leave few, so that handles share numbers.
    private let mask: UInt64
    /// Whether registrations have ``bytes(of:_:_:app:)``, which no two devices share, in a column with a unique index.
    ///
    /// That is the form of a store with several writers: its index says where two of them claim a handle at a time. With one writer, a
    /// table of short numbers takes less room.
    package let isWide: Bool

    /// - Parameters:
    ///   - key: 16 bytes.
    ///   - mask: The bits that are used.
    ///   - isWide: See ``isWide``.
    /// - Throws: ``StoreError`` when the key has another length.
    package init(key: some Collection<UInt8>, mask: UInt64 = .max, isWide: Bool = false) throws(StoreError) {
        guard key.count == 16 else { throw StoreError(.corrupt, "the store's key for handles is not 16 bytes") }
        self.key = (Self.word(key.prefix(8)), Self.word(key.dropFirst(8)))
        self.mask = mask
        self.isWide = isWide
    }

    /// The number of a handle of an app at a service: of its identity, so that all handles of a device have the same.
    package func number(of handle: Handle, _ pns: PushService, _ kind: RegistrationKind, app: Int64) -> Int64 {
        Int64(bitPattern: self.hash(of: handle, pns, kind, app: app, half: 0) & self.mask)
    }

    /// 16 bytes that stand for a handle as its number does.
    package func bytes(of handle: Handle, _ pns: PushService, _ kind: RegistrationKind, app: Int64) -> [UInt8] {
        ([0, 1] as [Int64]).flatMap { half in
            let hash = self.hash(of: handle, pns, kind, app: app, half: half)
            return (0..<8).map { UInt8(truncatingIfNeeded: hash >> (8 * $0)) }
        }
    }

    private func hash(
        of handle: Handle,
        _ pns: PushService,
        _ kind: RegistrationKind,
        app: Int64,
        half: Int64
    ) -> UInt64 {
        var text = handle.sameDevice(at: pns).lowerBound
        return text.withUTF8 { bytes in
            var state = SipState(self.key)
            // 16 bytes of app and service: equal handles of other apps and services have other digests.
            state.add(UInt64(bitPattern: app))
            state.add(UInt64(bitPattern: Int64(RegistrationSlot.number(pns, kind)) | half << 32))
            return unsafe state.finish(bytes, before: 16)
        }
    }

    /// A number that stands for a user's name and does not tell it without the store's key.
    package func number(of user: UserName) -> Int64 {
        Int64(bitPattern: self.hash(Array("user \(user.key.text)".utf8)))
    }

    /// Plain SipHash-2-4, for comparison with other implementations.
    package func hash(_ bytes: [UInt8]) -> UInt64 {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            var state = SipState(self.key)
            return unsafe state.finish(bytes, before: 0)
        }
    }

    /// Bytes as a number, the lowest first.
    fileprivate static func word(_ bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}

/// The state of SipHash-2-4 (Aumasson and Bernstein, 2012).
private struct SipState {
    private var v0: UInt64
    private var v1: UInt64
    private var v2: UInt64
    private var v3: UInt64

    init(_ key: (UInt64, UInt64)) {
        self.v0 = key.0 ^ 0x736F_6D65_7073_6575
        self.v1 = key.1 ^ 0x646F_7261_6E64_6F6D
        self.v2 = key.0 ^ 0x6C79_6765_6E65_7261
        self.v3 = key.1 ^ 0x7465_6462_7974_6573
    }

    mutating func add(_ word: UInt64) {
        self.v3 ^= word
        self.round()
        self.round()
        self.v0 ^= word
    }

    /// Adds the last bytes.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - count: How many bytes were added before.
    /// - Returns: The hash of all.
    mutating func finish(_ bytes: UnsafeBufferPointer<UInt8>, before count: Int) -> UInt64 {
        let whole = bytes.count & ~7
        let raw = UnsafeRawBufferPointer(bytes)
        for start in stride(from: 0, to: whole, by: 8) {
            self.add(UInt64(littleEndian: unsafe raw.loadUnaligned(fromByteOffset: start, as: UInt64.self)))
        }
        var last = UInt64(truncatingIfNeeded: bytes.count + count) << 56
        for index in whole..<bytes.count { last |= unsafe UInt64(bytes[index]) << UInt64(8 * (index - whole)) }
        self.add(last)
        self.v2 ^= 0xFF
        for _ in 0..<4 { self.round() }
        return self.v0 ^ self.v1 ^ self.v2 ^ self.v3
    }

    private mutating func round() {
        self.v0 &+= self.v1
        self.v1 = Self.rotate(self.v1, 13) ^ self.v0
        self.v0 = Self.rotate(self.v0, 32)
        self.v2 &+= self.v3
        self.v3 = Self.rotate(self.v3, 16) ^ self.v2
        self.v0 &+= self.v3
        self.v3 = Self.rotate(self.v3, 21) ^ self.v0
        self.v2 &+= self.v1
        self.v1 = Self.rotate(self.v1, 17) ^ self.v2
        self.v2 = Self.rotate(self.v2, 32)
    }

    private static func rotate(_ word: UInt64, _ bits: UInt64) -> UInt64 { word << bits | word >> (64 - bits) }
}
