import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A request as it goes out.
struct HTTPRequest: Sendable {
    var method: String
    var url: URL
    var headers: [String: String]
    var body: Data?
}

/// An answer as it comes in.
///
/// The names of headers are lower-case.
struct HTTPAnswer: Sendable {
    var status: Int
    var headers: [String: String] = [:]
    var body = Data()
}

/// Carries requests; a test puts its own in.
protocol HTTPTransport: Sendable {
    func answer(to request: HTTPRequest) async throws -> HTTPAnswer
}

/// Carries requests through Foundation's URL loading.
///
/// No cookies, no cache, and no redirects: a redirect would take the credentials elsewhere.
final class URLSessionTransport: NSObject, HTTPTransport, URLSessionTaskDelegate {
    static let shared = URLSessionTransport()

    private let session: URLSession

    private override init() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpShouldSetCookies = false
        configuration.httpCookieStorage = nil
        configuration.urlCache = nil
        self.session = URLSession(configuration: configuration)
        super.init()
    }

    func answer(to request: HTTPRequest) async throws -> HTTPAnswer {
        var outgoing = URLRequest(url: request.url)
        outgoing.httpMethod = request.method
        outgoing.httpBody = request.body
        for (name, value) in request.headers { outgoing.setValue(value, forHTTPHeaderField: name) }
        let (body, response): (Data, URLResponse)
        do {
            (body, response) = try await self.session.data(for: outgoing, delegate: self)
        } catch let error as URLError where error.code == .cancelled {
            throw CancellationError()
        } catch let error as URLError {
            throw PushlineError(.unreachable, "the server cannot be reached: \(error.localizedDescription)")
        }
        guard let response = response as? HTTPURLResponse else {
            throw PushlineError(.unexpectedAnswer, "the answer is no HTTP")
        }
        var headers: [String: String] = [:]
        for (name, value) in response.allHeaderFields {
            if let name = name as? String, let value = value as? String { headers[name.lowercased()] = value }
        }
        return HTTPAnswer(status: response.statusCode, headers: headers, body: body)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }
}
