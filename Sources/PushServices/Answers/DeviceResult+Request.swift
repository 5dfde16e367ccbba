import AsyncHTTPClient
import Glibc
import NIOCore
import NIOPosix
import NIOSSL

extension DeviceResult {
    /// The result of a request of async-http-client that failed: one that was never sent is not one without an answer.
    init(ofRequest error: any Error) {
        let text = ForeignText.word("\(error)")
        self =
            Self.isBeforeSending(error)
            ? .retry(after: nil, scope: .sender, counts: false, reason: "no connection: \(text)", status: nil)
            : .unanswered(reason: text)
    }

    /// Whether a fault can only come before the request leaves.
    private static func isBeforeSending(_ error: any Error) -> Bool {
        switch error {
        case let error as HTTPClientError:
            [
                .connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout, .alreadyShutdown, .emptyHost,
                .emptyScheme, .invalidURL,
            ].contains(error)
        case is NIOConnectionError, is NIOSSLExtraError: true
        case NIOSSLError.handshakeFailed: true
        // Where the address was given, no name was looked up, and the fault of connecting comes as it is.
        case let error as IOError: error.errnoCode == ECONNREFUSED
        default: false
        }
    }
}
