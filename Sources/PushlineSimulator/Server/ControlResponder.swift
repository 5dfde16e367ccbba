import Foundation
import NIOConcurrencyHelpers
import NIOCore
import PushModel

/// The plain HTTP side, for scripts.
///
/// | request | does |
/// | --- | --- |
/// | `GET /healthz` | 200 once it serves |
/// | `POST /faults` | adds the fault of the JSON body, or each of an array; 201 with their ids |
/// | `GET /faults` | the faults with their hits, also those used up |
/// | `DELETE /faults` | forgets them |
/// | `DELETE /faults/ID` | ends one, whose hits stay known |
/// | `POST /reset` | forgets faults, received pushes and counts |
/// | `GET /received?token=&service=&since=&limit=` | a JSON array of what came in, oldest first |
/// | `GET /deliveries?since=&limit=` | the accepted pushes, a line of JSON each: `index`, `service`, `token`, `id`, `marker` |
/// | `GET /counts` | numbers of all that came in |
/// | `POST /access-tokens/revoke` | all access tokens given out turn useless |
///
/// `token` is a device token or channel URI, whole or its end; `since` is an index (of the first wanted) or an ISO 8601
/// time; `limit` is 50,000 unless said. Deliveries have indices of their own; `id` is the same in copies of a push, and where
/// some of the wanted ones were forgotten, the first line is `{"dropped":N}`.
struct ControlResponder: Responder {
    var core: SimulatorCore

    private static let usualLimit = 50_000

    func respond(to request: InboundRequest, on connection: ConnectionMemory) -> Reaction {
        Reaction(.answer(self.answer(to: request)))
    }

    private func answer(to request: InboundRequest) -> Answer {
        switch (request.method, String(request.pathOnly)) {
        case ("GET", "/healthz"):
            return .json(200, "{\"status\":\"ok\"}")
        case ("POST", "/faults"):
            return self.addFaults(request)
        case ("GET", "/faults"):
            let faults = self.core.state.withLockedValue { $0.faults }
            return Self.encoded(200, faults.map(FaultCoding.init))
        case ("DELETE", "/faults"):
            self.core.state.withLockedValue { $0.clearFaults() }
            return Answer(status: 204)
        case ("POST", "/reset"):
            self.core.state.withLockedValue { $0.reset() }
            return Answer(status: 204)
        case ("POST", "/access-tokens/revoke"):
            self.core.accessTokens.revokeAll()
            return Answer(status: 204)
        case ("GET", "/received"):
            return self.received(request)
        case ("GET", "/deliveries"):
            return self.deliveries(request)
        case ("GET", "/counts"):
            return Self.encoded(200, self.core.state.withLockedValue { $0.journal.counts })
        case ("DELETE", let path) where path.hasPrefix("/faults/"):
            guard let id = Int(path.dropFirst("/faults/".count)),
                self.core.state.withLockedValue({ $0.endFault(id) })
            else { return Self.error(404, "no such fault") }
            return Answer(status: 204)
        case (_, "/healthz"), (_, "/faults"), (_, "/reset"), (_, "/received"), (_, "/deliveries"), (_, "/counts"),
            (_, "/access-tokens/revoke"):
            return Self.error(405, "the method does not fit the path")
        default:
            return Self.error(404, "no such path")
        }
    }

    private func addFaults(_ request: InboundRequest) -> Answer {
        guard request.bodySize <= InboundRequest.maximumBody else { return Self.error(413, "at most 64 KiB") }
        let data = Data(request.body.readableBytesView)
        let faults: [SimulatorFault]
        do {
            let isArray = request.body.readableBytesView.first { !" \t\r\n".utf8.contains($0) } == UInt8(ascii: "[")
            faults =
                isArray
                ? try JSONDecoder().decode([FaultCoding].self, from: data).map(\.fault)
                : [try JSONDecoder().decode(FaultCoding.self, from: data).fault]
        } catch let error as DecodingError {
            return Self.error(400, Self.describe(error))
        } catch {
            return Self.error(400, "the body is not a fault")
        }
        let ids = self.core.state.withLockedValue { state in faults.map { state.add($0) } }
        return .json(201, "{\"ids\":[" + ids.map(String.init).joined(separator: ",") + "]}")
    }

    private static func describe(_ error: DecodingError) -> String {
        switch error {
        case .dataCorrupted(let context), .typeMismatch(_, let context), .valueNotFound(_, let context),
            .keyNotFound(_, let context):
            let place = context.codingPath.map(\.stringValue).joined(separator: ".")
            return place.isEmpty ? context.debugDescription : "\(place): \(context.debugDescription)"
        @unknown default:
            return "the body is not a fault"
        }
    }

    private func received(_ request: InboundRequest) -> Answer {
        var filter = ReceivedFilter(limit: Self.usualLimit)
        for (name, value) in request.query {
            switch name {
            case "token":
                filter.token = value
            case "service":
                guard let pns = SimulatedService.named(value) else {
                    return Self.error(400, "service: \(SimulatedService.names)")
                }
                filter.pns = pns
            case "limit":
                guard let limit = Int(value), limit > 0 else { return Self.error(400, "limit: a positive number") }
                filter.limit = limit
            case "since":
                if let index = Int(value) {
                    filter.sinceIndex = index
                } else if let time = Self.time(value) {
                    filter.sinceTime = time
                } else {
                    return Self.error(400, "since: an index or an ISO 8601 time")
                }
            default:
                return Self.error(400, "\(name): unknown; there are token, service, since and limit")
            }
        }
        // Unpacked outside the lock: pushes must not wait for it.
        let kept = self.core.state.withLockedValue { $0.journal.kept }
        let parts = kept.received(filter).map { push in
            JSONValue.members([
                "index": .integer(push.index), "service": .string(push.pns.rawValue), "token": .string(push.token),
                "time": .string(Self.timeStyle.format(push.time)), "status": .integer(push.status),
                "reason": push.reason.map(JSONValue.string) ?? .null, "headers": .texts(push.headers),
                "body": .string(push.body),
            ]).compactText
        }
        return .json(200, "[" + parts.joined(separator: ",\n") + "]\n")
    }

    private func deliveries(_ request: InboundRequest) -> Answer {
        var (since, limit) = (0, Self.usualLimit)
        for (name, value) in request.query {
            guard let number = Int(value), number >= 0 else { return Self.error(400, "\(name): a number") }
            switch name {
            case "since": since = number
            case "limit": limit = number
            default: return Self.error(400, "\(name): unknown; there are since and limit")
            }
        }
        // Unpacked outside the lock: pushes must not wait for it.
        let accepted = self.core.state.withLockedValue { $0.journal.accepted }
        let dropped = accepted.first - since
        var lines = dropped > 0 ? "{\"dropped\":\(dropped)}\n" : ""
        for push in accepted.pushes(since: since, limit: limit) {
            let bytes = JSONWriter.object { members in
                members.add("index", push.index)
                members.add("service", push.pns.rawValue)
                members.add("token", push.token)
                members.add("id", push.id)
                members.add("marker", push.marker)
            }
            lines += String(decoding: bytes, as: UTF8.self) + "\n"
        }
        return Answer(
            status: 200,
            fields: [.init(name: "content-type", value: "application/x-ndjson")],
            body: lines
        )
    }

    private static let timeStyle = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    private static func time(_ text: String) -> Date? {
        // A plus of a zone that was not escaped came as a space.
        let text = text.replacingOccurrences(of: " ", with: "+")
        return (try? Self.timeStyle.parse(text)) ?? (try? Date.ISO8601FormatStyle().parse(text))
    }

    private static func error(_ status: Int, _ text: String) -> Answer {
        .json(status, JSONValue.members(["error": .string(text)]).compactText)
    }

    private static func encoded(_ status: Int, _ value: some Encodable) -> Answer {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else { return Self.error(500, "encoding failed") }
        return .json(status, String(decoding: data, as: UTF8.self))
    }
}
