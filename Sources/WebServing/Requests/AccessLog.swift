import HTTPTypes
import Hummingbird
import Logging
import NIOConcurrencyHelpers
import NIOCore
import PushModel
import PushlineLogging

/// A line for each request, with the template of its route: the path and the query may hold a handle or a user's name.
///
/// With `log.access` at `info`, also where the log's level leaves that out; without it at `debug`.
struct AccessLog: Sendable {
    private let logger: Logger
    private let level: Logger.Level

    init(logger: Logger, isOn: Bool) {
        var logger = logger
        if isOn { logger.logLevel = min(logger.logLevel, .info) }
        self.logger = logger
        self.level = isOn ? .info : .debug
    }

    /// Notes a request when it is answered: at once where the length of the answer is known, else when its body ends.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - exchange: What is known of it.
    ///   - response: The answer; its body counts itself where that is needed.
    func note(_ request: Request, _ exchange: WebExchange, _ response: inout Response) {
        guard self.logger.logLevel <= self.level else { return }
        var metadata: Logger.Metadata = [
            "http.request.method": "\(RequestMetrics.name(of: request.method))", "http.route": "\(exchange.template)",
            "http.response.status_code": "\(response.status.code)",
        ]
        metadata["http.request.body.size"] = request.headers.text(of: .contentLength).flatMap(Int.init).map { "\($0)" }
        metadata["app"] = exchange.app.map { "\($0)" }
        metadata["caller"] = exchange.caller.map { "\($0)" }
        metadata["tracking.id"] = exchange.clientsID.map { "\($0)" }
        if let size = response.body.contentLength {
            self.write(metadata, size: size, start: exchange.start)
        } else {
            self.countBody(of: &response, metadata, start: exchange.start)
        }
    }

    /// Notes a request when the body of its answer has ended, or broken off.
    private func countBody(of response: inout Response, _ metadata: Logger.Metadata, start: ContinuousClock.Instant) {
        let size = NIOLockedValueBox(0)
        let body = response.body.map { piece in
            size.withLockedValue { $0 += piece.readableBytes }
            return piece
        }
        let context = LogContext.current
        response.body = ResponseBody { writer in
            defer {
                LogContext.$current.withValue(context) {
                    self.write(metadata, size: size.withLockedValue { $0 }, start: start)
                }
            }
            try await body.write(writer)
        }
    }

    private func write(_ metadata: Logger.Metadata, size: Int, start: ContinuousClock.Instant) {
        var metadata = metadata
        metadata["http.response.body.size"] = "\(size)"
        metadata["http.server.request.duration"] = "\((ContinuousClock.now - start).secondsInDigits)"
        self.logger.log(level: self.level, "Request", metadata: metadata)
    }
}

extension Duration {
    /// Seconds with six digits, never as a power of ten.
    fileprivate var secondsInDigits: String {
        let microseconds = max(0, Int64(self / .microseconds(1)))
        let fraction = String(microseconds % 1_000_000)
        return "\(microseconds / 1_000_000)." + String(repeating: "0", count: 6 - fraction.count) + fraction
    }
}
