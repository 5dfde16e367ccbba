import Broker
import CRabbitMQ

/// The header frame of a message: the body's size and the properties.
struct MessageHeader {
    var bodySize: UInt64
    var properties = MessageProperties(type: "", messageID: "", contentType: "")
    /// The number of a message that we sent, when it is returned.
    var correlationID: String?
    var deliveryCount: Int?
    var firstDeathQueue: String?
}

extension MessageHeader {
    init(_ properties: UnsafePointer<amqp_basic_properties_t>, bodySize: UInt64) {
        self.init(bodySize: bodySize)
        let flags = unsafe properties.pointee._flags
        func text(_ flag: amqp_flags_t, _ bytes: amqp_bytes_t) -> String? {
            flags & flag == 0 ? nil : unsafe String(amqpBytes: bytes)
        }
        self.properties.type = unsafe text(BasicProperty.type, properties.pointee.type) ?? ""
        self.properties.messageID = unsafe text(BasicProperty.messageID, properties.pointee.message_id) ?? ""
        self.properties.contentType = unsafe text(BasicProperty.contentType, properties.pointee.content_type) ?? ""
        self.correlationID = unsafe text(BasicProperty.correlationID, properties.pointee.correlation_id)
        if flags & BasicProperty.headers != 0 { unsafe self.read(properties.pointee.headers) }
    }

    private mutating func read(_ table: amqp_table_t) {
        let entries = unsafe UnsafeBufferPointer(start: table.entries, count: max(0, Int(table.num_entries)))
        // Before any other (rule 5); the first of that name, for that is the one that the broker sets.
        let count = unsafe entries.first { unsafe String(amqpBytes: $0.key) == "x-delivery-count" }
        self.deliveryCount = unsafe count.flatMap { unsafe Self.integer($0.value) }
        for index in entries.indices {
            let key = unsafe String(amqpBytes: entries[index].key)
            let value = unsafe entries[index].value
            switch key {
            case "x-first-death-queue":
                self.firstDeathQueue = unsafe Self.text(value)
            default:
                // The broker's own additions begin with `x-`.
                if !key.hasPrefix("x-"), let text = unsafe Self.text(value) { self.properties.headers[key] = text }
            }
        }
    }

    private static func text(_ value: amqp_field_value_t) -> String? {
        guard unsafe value.kind == UInt8(AMQP_FIELD_KIND_UTF8.rawValue) else { return nil }
        return unsafe String(amqpBytes: value.value.bytes)
    }

    private static func integer(_ value: amqp_field_value_t) -> Int? {
        switch unsafe UInt32(value.kind) {
        case UInt32(AMQP_FIELD_KIND_I8.rawValue): unsafe Int(value.value.i8)
        case UInt32(AMQP_FIELD_KIND_U8.rawValue): unsafe Int(value.value.u8)
        case UInt32(AMQP_FIELD_KIND_I16.rawValue): unsafe Int(value.value.i16)
        case UInt32(AMQP_FIELD_KIND_U16.rawValue): unsafe Int(value.value.u16)
        case UInt32(AMQP_FIELD_KIND_I32.rawValue): unsafe Int(value.value.i32)
        case UInt32(AMQP_FIELD_KIND_U32.rawValue): unsafe Int(value.value.u32)
        case UInt32(AMQP_FIELD_KIND_I64.rawValue): unsafe Int(value.value.i64)
        case UInt32(AMQP_FIELD_KIND_U64.rawValue): unsafe Int(clamping: value.value.u64)
        default: nil
        }
    }
}

/// The flags of a message's properties.
enum BasicProperty {
    static let contentType: amqp_flags_t = 1 << 15
    static let headers: amqp_flags_t = 1 << 13
    static let deliveryMode: amqp_flags_t = 1 << 12
    static let correlationID: amqp_flags_t = 1 << 10
    static let messageID: amqp_flags_t = 1 << 7
    static let type: amqp_flags_t = 1 << 5
}

extension String {
    /// Copies a text of the library's, replacing invalid UTF-8.
    init(amqpBytes bytes: amqp_bytes_t) {
        let buffer = unsafe UnsafeRawBufferPointer(start: bytes.bytes, count: bytes.len)
        self = unsafe String(decoding: buffer, as: UTF8.self)
    }
}
