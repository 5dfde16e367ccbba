import PushModel

/// Text as a JSON string.
enum JSONText {
    static func string(_ text: String) -> String {
        var bytes: [UInt8] = []
        bytes.appendJSONString(text)
        return String(decoding: bytes, as: UTF8.self)
    }
}
