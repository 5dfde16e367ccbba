import Foundation

/// The API's JSON: moments are RFC 3339 in UTC.
enum Coding {
    static func decoder() -> JSONDecoder {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            let container = try decoder.singleValueContainer()
            let text = try container.decode(String.self)
            let fractional = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
            guard let date = (try? fractional.parse(text)) ?? (try? Date.ISO8601FormatStyle().parse(text)) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a moment: \(text)")
            }
            return date
        }
        return decoder
    }

    static func body(_ value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(Self.text(date))
        }
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return try encoder.encode(value)
        } catch {
            throw PushlineError(.invalidRequest, "the request cannot be written as JSON: \(error)")
        }
    }

    /// The body of a send some of whose members are JSON that is already written, an object: its bytes go as they are, since a
    /// reader and a writer of JSON would round numbers and sort members.
    static func body(_ notification: PushNotification, adding written: Data?) throws -> Data {
        let body = try Self.body(notification)
        guard let written, let brace = written.firstIndex(of: UInt8(ascii: "{")) else { return body }
        // It always has a member before: the audience.
        return Data(body.dropLast() + Data(",".utf8) + written[written.index(after: brace)...])
    }

    /// A moment as the API reads it in a query.
    static func text(_ date: Date) -> String {
        date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
