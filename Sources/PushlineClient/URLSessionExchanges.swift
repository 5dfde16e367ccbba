import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Collects the answers of a URL session's tasks and hands each to its waiter.
///
/// `URLSession.data(for:)` has two faults here. On Linux, Foundation waits for ever after a 401 with `WWW-Authenticate`
/// if no credentials follow; and it keeps an answer of any size in memory.
///
/// Unchecked: `exchanges` is guarded by `lock`.
final class URLSessionExchanges: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private struct Exchange {
        var body = Data()
        var wasChallenged = false
        var waiter: CheckedContinuation<HTTPAnswer, any Error>?
        /// A result that arrived before its waiter.
        var result: Result<HTTPAnswer, any Error>?
    }

    private let lock = NSLock()
    private var exchanges: [Int: Exchange] = [:]

    /// Makes room for a task's answer.
    func open(_ task: Int) { self.lock.withLock { self.exchanges[task] = Exchange() } }

    /// Waits for a task's answer, or takes it where it is here.
    func wait(_ task: Int, _ waiter: CheckedContinuation<HTTPAnswer, any Error>) {
        let result = self.lock.withLock { () -> Result<HTTPAnswer, any Error>? in
            if let result = self.exchanges[task]?.result {
                self.exchanges[task] = nil
                return result
            }
            self.exchanges[task]?.waiter = waiter
            return nil
        }
        if let result { waiter.resume(with: result) }
    }

    /// Ends a task's exchange; the first end counts.
    func end(_ task: Int, _ result: Result<HTTPAnswer, any Error>) {
        let waiter = self.lock.withLock { () -> CheckedContinuation<HTTPAnswer, any Error>? in
            guard let exchange = self.exchanges[task], exchange.result == nil else { return nil }
            guard let waiter = exchange.waiter else {
                self.exchanges[task]?.result = result
                return nil
            }
            self.exchanges[task] = nil
            return waiter
        }
        waiter?.resume(with: result)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let size = self.lock.withLock { () -> Int in
            self.exchanges[dataTask.taskIdentifier]?.body.append(data)
            return self.exchanges[dataTask.taskIdentifier]?.body.count ?? 0
        }
        guard size > HTTPAnswer.maximumBody else { return }
        self.end(
            dataTask.taskIdentifier,
            .failure(PushlineError(.unexpectedAnswer, "the server's answer is too large"))
        )
        dataTask.cancel()
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let exchange = self.lock.withLock { self.exchanges[task.taskIdentifier] }
        self.end(task.taskIdentifier, Self.result(exchange, task.response, error))
    }

    /// The credentials are in the request already: there are no others to give.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        guard challenge.failureResponse is HTTPURLResponse else {
            return completionHandler(.performDefaultHandling, nil)
        }
        self.lock.withLock { self.exchanges[task.taskIdentifier]?.wasChallenged = true }
        completionHandler(.rejectProtectionSpace, nil)
    }

    /// Never followed: a redirect would take the credentials elsewhere.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    /// The error codes of an invalid certificate.
    private static let areUntrusted: Set<URLError.Code?> = [
        .serverCertificateHasBadDate, .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid,
        .serverCertificateUntrusted,
    ]

    private static func result(
        _ exchange: Exchange?,
        _ response: URLResponse?,
        _ error: (any Error)?
    ) -> Result<HTTPAnswer, any Error> {
        // On Linux a rejected challenge ends the task as cancelled, with the answer complete.
        if let error, exchange?.wasChallenged != true {
            let code: PushlineError.Code =
                Self.areUntrusted.contains((error as? URLError)?.code) ? .untrusted : .unreachable
            return .failure(PushlineError(code, "the server cannot be reached: \(error.localizedDescription)"))
        }
        guard let response = response as? HTTPURLResponse else {
            return .failure(PushlineError(.unexpectedAnswer, "the answer is not HTTP"))
        }
        var headers: [String: String] = [:]
        for (name, value) in response.allHeaderFields {
            if let name = name as? String, let value = value as? String { headers[name.lowercased()] = value }
        }
        return .success(HTTPAnswer(status: response.statusCode, headers: headers, body: exchange?.body ?? Data()))
    }
}
