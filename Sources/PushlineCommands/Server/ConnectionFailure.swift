import AsyncHTTPClient
import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import PushlineClient

/// Why a request got no answer, in people's words.
enum ConnectionFailure {
    /// - Parameters:
    ///   - error: The error of the HTTP client.
    ///   - url: The requested address.
    /// - Returns: A `PushlineError`; or `CancellationError` if the task was cancelled.
    static func explained(_ error: any Error, url: URL) -> any Error {
        let place = Self.place(url)
        switch error {
        case is CancellationError: return error
        case let error as HTTPClientError: return Self.failed(error, url, place)
        case is NIOTooManyBytesError: return PushlineError(.unexpectedAnswer, "the answer of \(place) is too large")
        case let error as NIOConnectionError: return Self.unreachable(Self.reason(error), place)
        case let error as IOError: return Self.unreachable(Self.words(error.errnoCode), place)
        case NIOSSLError.handshakeFailed(let cause): return Self.refusedTLS("\(cause)", place)
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            return PushlineError(.untrusted, "the certificate of \(place) is not for \(url.host ?? "that name")")
        default: return Self.unreachable("\(error)", place)
        }
    }

    private static func failed(_ error: HTTPClientError, _ url: URL, _ place: String) -> any Error {
        switch error {
        case .cancelled: return CancellationError()
        case .connectTimeout: return Self.unreachable("nothing answers there", place)
        case .tlsHandshakeTimeout: return Self.unreachable("it does not answer with TLS", place)
        case .remoteConnectionClosed:
            let doubt = url.scheme == "http" ? " (does it expect https?)" : ""
            return PushlineError(.unreachable, "\(place) closed the connection without an answer\(doubt)")
        default: return Self.unreachable(error.description, place)
        }
    }

    private static func unreachable(_ reason: String, _ place: String) -> PushlineError {
        PushlineError(.unreachable, "no connection to \(place): \(reason)")
    }

    /// The errors of BoringSSL can be distinguished only by their texts.
    private static func refusedTLS(_ cause: String, _ place: String) -> PushlineError {
        if cause.contains("CERTIFICATE_VERIFY_FAILED") {
            return PushlineError(
                .untrusted,
                "the certificate of \(place) is not accepted: its authority is not trusted here, or it has expired"
            )
        }
        // A server without TLS answers a handshake in plain text, or hangs up.
        if ["WRONG_VERSION_NUMBER", "HTTP_REQUEST", "EOF during handshake"].contains(where: cause.contains) {
            let plain = place.replacing("https://", with: "http://")
            return PushlineError(.unexpectedAnswer, "\(place) does not speak TLS (is its address \(plain)?)")
        }
        return Self.unreachable("TLS: \(cause)", place)
    }

    private static func reason(_ error: NIOConnectionError) -> String {
        // Of several addresses the first that was tried: the others fail alike.
        if let failed = error.connectionErrors.first {
            return (failed.error as? IOError).map { Self.words($0.errnoCode) } ?? "\(failed.error)"
        }
        return error.dnsAError != nil || error.dnsAAAAError != nil
            ? "the name \(error.host) has no address" : "nothing answers there"
    }

    private static func words(_ code: CInt) -> String { unsafe String(cString: strerror(code)).lowercasingFirst }

    /// Scheme, host and port.
    private static func place(_ url: URL) -> String {
        let port = url.port.map { ":\($0)" } ?? ""
        return "\(url.scheme ?? "")://\(url.host ?? "")\(port)"
    }
}

extension String {
    fileprivate var lowercasingFirst: String { self.prefix(1).lowercased() + self.dropFirst() }
}
