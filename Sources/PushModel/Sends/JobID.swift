import Synchronization

/// The id of a job: a UUID, version 7 where we make it (RFC 9562, section 5.7).
///
/// Its order is never relied on: clocks jump. The store's sequence gives order.
package struct JobID: Hashable, Sendable, Codable, CustomStringConvertible {
    /// The 16 bytes, most significant first.
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    private static let random = Mutex(SystemRandom())

    /// A new version 7 id: 48 bits of milliseconds, 74 that are random (RFC 9562, section 5.7).
    package static func make(at time: Timestamp = .now) -> JobID {
        let milliseconds = UInt64(bitPattern: time.milliseconds) & 0xFFFF_FFFF_FFFF
        let (first, second) = Self.random.withLock { ($0.next(), $0.next()) }
        let high = milliseconds << 16 | 0x7000 | (first & 0x0FFF)
        let low = 0x8000_0000_0000_0000 | (second & 0x3FFF_FFFF_FFFF_FFFF)
        return JobID(high: high, low: low)
    }

    /// Reads the canonical 8-4-4-4-12 form, in any letter case.
    package init?(_ text: String) {
        guard text.utf8.count == 36 else { return nil }
        var digits = 0
        var high: UInt64 = 0
        var low: UInt64 = 0
        for (index, byte) in text.utf8.enumerated() {
            if index == 8 || index == 13 || index == 18 || index == 23 {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            let value: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): value = byte - UInt8(ascii: "A") + 10
            default: return nil
            }
            if digits < 16 { high = high << 4 | UInt64(value) } else { low = low << 4 | UInt64(value) }
            digits += 1
        }
        self.init(high: high, low: low)
    }

    /// The 16 bytes in network order.
    package var bytes: [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: 16) { buffer, count in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            unsafe bytes.storeBytes(of: self.high.bigEndian, as: UInt64.self)
            unsafe bytes.storeBytes(of: self.low.bigEndian, toByteOffset: 8, as: UInt64.self)
            count = 16
        }
    }

    /// Reads 16 bytes in network order.
    package init?(bytes: some Collection<UInt8>) {
        // In one piece where they lie so: generic code goes through them one by one for ten times the time.
        let read = bytes.withContiguousStorageIfAvailable { unsafe JobID(UnsafeRawBufferPointer($0)) }
        guard let id = unsafe read ?? Array(bytes).withUnsafeBytes({ unsafe JobID($0) }) else { return nil }
        self = id
    }

    private init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 16 else { return nil }
        self.init(
            high: UInt64(bigEndian: unsafe bytes.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: unsafe bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        )
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let id = JobID(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a job id")
        }
        self = id
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.description)
    }

    /// The canonical lower-case form.
    package var description: String {
        unsafe String(unsafeUninitializedCapacity: Self.textLength) { buffer in
            unsafe self.write(to: buffer)
            return Self.textLength
        }
    }

    /// Appends the canonical form without making a string.
    package func appendText(to bytes: inout [UInt8]) {
        unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.textLength) { text in
            unsafe self.write(to: text)
            unsafe bytes.append(contentsOf: text)
        }
    }

    private static let textLength = 36

    private func write(to text: UnsafeMutableBufferPointer<UInt8>) {
        var position = 0
        for index in 0..<16 {
            if index == 4 || index == 6 || index == 8 || index == 10 {
                unsafe text.initializeElement(at: position, to: UInt8(ascii: "-"))
                position += 1
            }
            let word = index < 8 ? self.high : self.low
            let byte = UInt8(truncatingIfNeeded: word >> (56 - 8 * UInt64(index % 8)))
            unsafe text.initializeElement(at: position, to: Self.digit(byte >> 4))
            unsafe text.initializeElement(at: position + 1, to: Self.digit(byte & 15))
            position += 2
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 { value + (value < 10 ? 0x30 : 0x57) }

    /// The id that a device's notification carries (`apns-id`): the same for every repeat of this job to that row, another
    /// for every other row or job (rule 10).
    ///
    /// The row's number is mixed into the job's id, and the version becomes 8 (RFC 9562, section 5.8: custom).
    package func notificationID(row: Int64) -> JobID {
        // splitmix64 is a bijection: two rows of a job can never meet.
        var mixed = UInt64(bitPattern: row) &+ 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        mixed ^= mixed >> 31
        // The 62 free bits of the low word take the mixed row; its two top bits go where the job's version stood.
        let high = (self.high & ~0xF00F) | 0x8000 | ((mixed >> 62) << 2) | (self.high & 3)
        let low = 0x8000_0000_0000_0000 | ((self.low ^ mixed) & 0x3FFF_FFFF_FFFF_FFFF)
        return JobID(high: high, low: low)
    }
}
