/// Writes the binary form of messages: integers little-endian, byte strings and texts with their length before them.
struct ByteWriter {
    private(set) var buffer: [UInt8] = []

    mutating func reserve(_ count: Int) { self.buffer.reserveCapacity(count) }

    mutating func integer<T: FixedWidthInteger>(_ value: T) { self.integers(CollectionOfOne(value)) }

    mutating func integers<T: FixedWidthInteger>(_ values: some Collection<T>) {
        for value in values {
            unsafe withUnsafeBytes(of: value.littleEndian) { unsafe self.buffer.append(contentsOf: $0) }
        }
    }

    mutating func bytes(_ bytes: some Collection<UInt8>) {
        self.integer(UInt32(bytes.count))
        self.buffer.append(contentsOf: bytes)
    }

    mutating func text(_ text: String) { self.bytes(text.utf8) }

    /// Writes a part with its length before it.
    mutating func part(_ write: (inout ByteWriter) -> Void) {
        let start = self.buffer.count
        self.integer(UInt32(0))
        write(&self)
        let length = UInt32(self.buffer.count - start - 4)
        for index in 0..<4 { self.buffer[start + index] = UInt8(truncatingIfNeeded: length >> UInt32(index * 8)) }
    }
}

/// Reads the format of ``ByteWriter``; the bytes are untrusted.
struct ByteReader {
    private let buffer: [UInt8]
    private var position = 0
    private let end: Int

    init(_ buffer: [UInt8]) {
        self.buffer = buffer
        self.end = buffer.count
    }

    private init(_ buffer: [UInt8], from position: Int, to end: Int) {
        self.buffer = buffer
        self.position = position
        self.end = end
    }

    var remaining: Int { self.end - self.position }
    var isAtEnd: Bool { self.remaining == 0 }

    /// A part with its length before it, read where it lies.
    mutating func part() throws(MalformedDelivery) -> ByteReader {
        let length: UInt32 = try self.integer()
        guard self.remaining >= Int(length) else { throw MalformedDelivery("it ends too early") }
        defer { self.position += Int(length) }
        return ByteReader(self.buffer, from: self.position, to: self.position + Int(length))
    }

    mutating func integer<T: FixedWidthInteger>() throws(MalformedDelivery) -> T {
        let size = T.bitWidth / 8
        guard self.remaining >= size else { throw MalformedDelivery("it ends too early") }
        defer { self.position += size }
        return unsafe self.buffer.withUnsafeBytes { bytes in
            T(littleEndian: unsafe bytes.loadUnaligned(fromByteOffset: self.position, as: T.self))
        }
    }

    mutating func integers<T: FixedWidthInteger>(_ count: Int) throws(MalformedDelivery) -> [T] {
        let size = T.bitWidth / 8
        guard self.remaining / size >= count else { throw MalformedDelivery("it ends too early") }
        let start = self.position
        self.position += count * size
        return unsafe self.buffer.withUnsafeBytes { bytes in
            (0..<count).map { index in
                T(littleEndian: unsafe bytes.loadUnaligned(fromByteOffset: start + index * size, as: T.self))
            }
        }
    }

    mutating func bytes() throws(MalformedDelivery) -> [UInt8] {
        let part = try self.part()
        return Array(part.buffer[part.position..<part.end])
    }

    mutating func text() throws(MalformedDelivery) -> String {
        String(decoding: try self.bytes(), as: UTF8.self)
    }
}
