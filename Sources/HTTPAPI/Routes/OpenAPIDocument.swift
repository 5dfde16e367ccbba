import CResources

/// The API's own description, as `/openapi.yaml` serves it.
enum OpenAPIDocument {
    /// YAML in UTF-8.
    static let bytes: [UInt8] = {
        let file = unsafe openapi_file()
        return unsafe Array(UnsafeBufferPointer(start: file.bytes, count: file.count))
    }()
}
