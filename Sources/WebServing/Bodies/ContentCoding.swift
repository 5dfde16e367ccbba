import HTTPTypes
import PushModel

/// How the bytes of a request's body are coded.
enum ContentCoding: Sendable {
    case identity
    case gzip

    /// - Throws: ``Problem`` 415 for any other, and for one within the other.
    init(_ headers: HTTPFields) throws {
        let codings = (headers.text(of: .contentEncoding) ?? "").split(separator: ",").map {
            $0.trimming().lowercased()
        }
        switch codings.filter({ !$0.isEmpty && $0 != "identity" }) {
        case []: self = .identity
        case ["gzip"], ["x-gzip"]: self = .gzip
        default:
            throw Problem(
                .unsupportedMediaType,
                "Content-Encoding: a body is taken as it is, or in gzip once",
                headers: [.acceptEncoding: "gzip"]
            )
        }
    }
}
