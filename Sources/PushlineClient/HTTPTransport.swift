package import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// An outgoing request.
package struct HTTPRequest: Sendable {
    package var method: String
    package var url: URL
    package var headers: [String: String]
    package var body: Data?
}

/// An incoming answer.
///
/// The names of headers are lower-case.
package struct HTTPAnswer: Sendable {
    /// More than any answer of the API has.
    package static let maximumBody = 64 * 1024 * 1024

    package var status: Int
    package var headers: [String: String]
    package var body: Data

    package init(status: Int, headers: [String: String] = [:], body: Data = Data()) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// Sends requests: Foundation's URL loading, or a replacement by the command line and tests.
package protocol HTTPTransport: Sendable {
    /// Makes one request.
    ///
    /// - Parameter request: The request, credentials included.
    /// - Returns: The answer, with any status; redirects are not followed.
    /// - Throws: ``PushlineError`` without an answer; `CancellationError`.
    func answer(to request: HTTPRequest) async throws -> HTTPAnswer
}

/// Carries requests through Foundation's URL loading, without cookies or cache.
final class URLSessionTransport: HTTPTransport {
    static let shared = URLSessionTransport()

    private let exchanges = URLSessionExchanges()
    private let session: URLSession

    private init() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpShouldSetCookies = false
        configuration.httpCookieStorage = nil
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        self.session = URLSession(configuration: configuration, delegate: self.exchanges, delegateQueue: nil)
    }

    func answer(to request: HTTPRequest) async throws -> HTTPAnswer {
        try Task.checkCancellation()
        var outgoing = URLRequest(url: request.url)
        outgoing.httpMethod = request.method
        outgoing.httpBody = request.body
        for (name, value) in request.headers { outgoing.setValue(value, forHTTPHeaderField: name) }
        let task = self.session.dataTask(with: outgoing)
        let exchanges = self.exchanges
        exchanges.open(task.taskIdentifier)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                exchanges.wait(task.taskIdentifier, continuation)
                task.resume()
            }
        } onCancel: {
            // The waiter continues at once, because Foundation may never complete a task cancelled early.
            exchanges.end(task.taskIdentifier, .failure(CancellationError()))
            task.cancel()
        }
    }
}
