package import HTTPTypes
package import Hummingbird
import NIOCore
package import PushModel

extension Response {
    /// JSON, in UTF-8.
    package static func json(_ value: JSONValue, status: HTTPResponse.Status = .ok) -> Response {
        .json(value.bytes, status: status)
    }

    /// The same for JSON that is already UTF-8.
    package static func json(
        _ text: [UInt8],
        status: HTTPResponse.Status,
        cacheControl: String? = nil
    ) -> Response {
        var headers = HTTPFields()
        // For those that are added on the way out too.
        headers.reserveCapacity(12)
        headers.append(HTTPField(name: .contentType, value: "application/json"))
        if let cacheControl { headers.append(HTTPField(name: .cacheControl, value: cacheControl)) }
        // Set here, because the response would copy all headers to add it.
        headers.append(HTTPField(name: .contentLength, value: String(text.count)))
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: text)))
    }

    /// A piece of a list: `items`, and `cursor` where there is more.
    package static func page(_ items: [JSONValue], cursor: String?) -> Response {
        .json(.members(["items": .array(items), "cursor": cursor.map(JSONValue.string)]))
    }
}
