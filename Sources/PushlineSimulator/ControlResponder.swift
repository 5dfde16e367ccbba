import Foundation
import NIOConcurrencyHelpers
import NIOCore

/// The plain HTTP side: faults, what was received, counts.
struct ControlResponder: Responder {
    var core: SimulatorCore

    func respond(to request: InboundRequest, on connection: ConnectionMemory) -> Reaction {
        Reaction(.answer(self.answer(to: request)))
    }

    private func answer(to request: InboundRequest) -> Answer {
        switch (request.method, String(request.pathOnly)) {
        case ("GET", "/healthz"):
            return .json(200, "{\"status\":\"ok\"}")
        case ("POST", "/reset"):
            self.core.state.withLockedValue { $0.reset() }
            return Answer(status: 204)
        case ("GET", "/counts"):
            return Self.encoded(200, self.core.state.withLockedValue { $0.journal.counts })
        default:
            return .json(404, "{\"error\":\"no such path\"}")
        }
    }

    private static func encoded(_ status: Int, _ value: some Encodable) -> Answer {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else { return .json(500, "{\"error\":\"encoding failed\"}") }
        return .json(status, String(decoding: data, as: UTF8.self))
    }
}
