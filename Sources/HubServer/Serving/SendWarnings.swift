import Logging
import PushModel
import WebServing

/// Tells the operator of something in a send that does not go out: seldom, for its sender may do it each time.
struct SendWarnings: Sendable {
    let logger: Logger
    private let seldom = Seldom()

    init(logger: Logger) { self.logger = logger }

    func warn(_ words: String, _ request: HubRequest) {
        guard self.seldom.mayHappen() else { return }
        self.logger.warning(
            "A send was accepted without a part of it",
            metadata: ["app": "\(request.app)", "caller": "\(request.callerName)", "reason": "\(words)"]
        )
    }
}
