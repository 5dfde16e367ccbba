import AsyncHTTPClient
import Glibc
import NIOCore
import NIOPosix
import NIOSSL

/// Why a request of async-http-client got no answer.
enum RequestFailure {
    /// Whether a fault can only come before the request leaves: then nobody has taken it.
    static func isBeforeSending(_ error: any Error) -> Bool {
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

    /// Whether time ran out, rather than that something went wrong.
    static func isStop(_ error: any Error) -> Bool {
        guard let error = error as? HTTPClientError else { return false }
        return [
            .connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout, .deadlineExceeded, .readTimeout,
            .writeTimeout,
        ].contains(error)
    }
}
