import Store
import StoreSQL

/// The types of values that are sent or read, by their numbers in PostgreSQL's catalogue.
enum PostgreSQLType {
    static let (boolean, bytes, integer, text): (UInt32, UInt32, UInt32, UInt32) = (16, 17, 20, 25)
    static let (small, medium): (UInt32, UInt32) = (21, 23)
    static let (byteStrings, texts, integers): (UInt32, UInt32, UInt32) = (1001, 1009, 1016)
}

extension PostgreSQLStatement.Parameter {
    /// Its type; 0 = what the server finds, of a value that is NULL.
    var type: UInt32 {
        switch self {
        case .null: 0
        case .integer: PostgreSQLType.integer
        case .text: PostgreSQLType.text
        case .bytes: PostgreSQLType.bytes
        case .integers: PostgreSQLType.integers
        case .texts: PostgreSQLType.texts
        case .byteStrings: PostgreSQLType.byteStrings
        }
    }

    /// As it goes over the wire; nil = NULL.
    var binary: [UInt8]? {
        switch self {
        case .null: nil
        case .integer(let number): Self.bigEndian(number)
        case .text(let text): Array(text.storable.utf8)
        case .bytes(let bytes): bytes
        case .integers(let numbers): Self.array(PostgreSQLType.integer, numbers, Self.bigEndian)
        case .texts(let texts): Self.array(PostgreSQLType.text, texts) { Array($0.storable.utf8) }
        case .byteStrings(let strings): Self.array(PostgreSQLType.bytes, strings) { $0 }
        }
    }

    private static func bigEndian<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        unsafe withUnsafeBytes(of: number.bigEndian) { unsafe Array($0) }
    }

    /// An array of one dimension, from 1.
    private static func array<Element>(
        _ type: UInt32,
        _ elements: [Element?],
        _ binary: (Element) -> [UInt8]
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(20 + 16 * elements.count)
        let header: [Int32] = [1, elements.contains { $0 == nil } ? 1 : 0, Int32(type), Int32(elements.count), 1]
        for number in header { bytes += self.bigEndian(number) }
        for element in elements {
            guard let element else {
                bytes += self.bigEndian(Int32(-1))
                continue
            }
            let value = binary(element)
            bytes += self.bigEndian(Int32(value.count))
            bytes += value
        }
        return bytes
    }
}

extension SQLValue {
    /// A column as PostgreSQL sends it.
    ///
    /// - Throws: ``StoreError`` where it is of a type that no statement reads.
    init(_ bytes: UnsafeRawBufferPointer, type: UInt32) throws(StoreError) {
        func number<Number: FixedWidthInteger>(_: Number.Type) throws(StoreError) -> SQLValue {
            guard bytes.count == MemoryLayout<Number>.size else {
                throw StoreError(.corrupt, "a number of type \(type) has \(bytes.count) bytes")
            }
            return .integer(Int64(unsafe Number(bigEndian: bytes.loadUnaligned(as: Number.self))))
        }
        switch type {
        case PostgreSQLType.integer: self = try number(Int64.self)
        case PostgreSQLType.text: self = unsafe .text(String(decoding: bytes, as: UTF8.self))
        case PostgreSQLType.bytes: self = unsafe .bytes(Array(bytes))
        case PostgreSQLType.boolean: self = unsafe .integer(bytes.first == 1 ? 1 : 0)
        case PostgreSQLType.medium: self = try number(Int32.self)
        case PostgreSQLType.small: self = try number(Int16.self)
        default: throw StoreError(.corrupt, "a column is of type \(type)")
        }
    }
}
