public import Foundation

/// The result of one of several sends.
public struct SentLine: Sendable, Equatable, Codable {
    /// The number of the line, from 1.
    public let line: Int
    /// 202 = accepted and durable; otherwise the status of a refused send.
    public let status: Int
    /// The job of an accepted line.
    public let id: String?
    /// The line was accepted before, under the same key.
    public let repeated: Bool?
    /// The member that is wrong, where one is.
    public let member: String?
    /// Why it was refused.
    public let detail: String?
    /// Of an accepted line, the members that no service of the send takes; nil = none.
    public let warnings: [NotificationPreview.Fault]?

    /// Whether it is accepted and durable.
    public var isAccepted: Bool { self.status == 202 }

    /// Whether the same line may be accepted later, under the same key.
    public var isPassing: Bool { self.status == 503 }
}

extension PushlineClient {
    /// The most sends of one call.
    public static let maximumLines = 10_000

    /// Sends several notifications at once, each accepted or refused on its own.
    ///
    /// After an error, or if lines were refused temporarily, repeat the call with the same key and the same
    /// notifications in the same order: nothing is sent twice.
    ///
    /// - Parameters:
    ///   - notifications: At most ``maximumLines``.
    ///   - idempotencyKey: The call's key: up to 255 visible ASCII characters, kept by the server for a day.
    /// - Returns: The result of each notification, in order.
    /// - Throws: ``PushlineError`` if the whole call was refused.
    public func send(_ notifications: [PushNotification], idempotencyKey: String) async throws -> [SentLine] {
        var lines = Data()
        for notification in notifications {
            lines += try Coding.body(notification)
            lines.append(UInt8(ascii: "\n"))
        }
        return try await self.send(lines: lines, idempotencyKey: idempotencyKey)
    }

    /// Sends notifications that are already JSON, one a line.
    ///
    /// - Parameters:
    ///   - lines: At most ``maximumLines`` lines in the API's form, ended by line feeds; empty ones are skipped.
    ///   - idempotencyKey: As for ``send(_:idempotencyKey:)-([PushNotification],_)``.
    /// - Returns: The result of each line that was not empty, in order.
    /// - Throws: ``PushlineError`` if the whole call was refused.
    public func send(lines: Data, idempotencyKey: String) async throws -> [SentLine] {
        let answer = try await self.answer(
            Call(
                method: "POST",
                path: ["sends", "batch"],
                headers: ["Idempotency-Key": idempotencyKey, "Content-Type": "application/x-ndjson"],
                body: lines
            )
        )
        let decoder = Coding.decoder()
        do {
            return try answer.body.split(separator: UInt8(ascii: "\n")).map {
                try decoder.decode(SentLine.self, from: $0)
            }
        } catch {
            throw PushlineError(.unexpectedAnswer, "the server's answer to the lines is not understood: \(error)")
        }
    }
}
