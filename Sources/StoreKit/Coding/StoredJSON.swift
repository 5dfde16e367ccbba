import Foundation
package import PushModel
import Store

/// Values that the tables keep as JSON.
package enum StoredJSON {
    /// The value as JSON.
    package static func text(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        // Sorted: equal values give equal text.
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// A job's work, by the short way where there is one.
    package static func text(work: Job.Work) throws -> String { try StoredSend.text(work) ?? self.text(work.preview) }

    /// Decodes the output of ``text(work:)``.
    package static func work(from text: [UInt8]) throws -> Job.Work {
        if let send = StoredSend.read(text) { return .send(send) }
        return try self.value(Job.Work.self, from: String(decoding: text, as: UTF8.self))
    }

    /// Decodes the work of a job that a send message holds.
    package static func send(from text: [UInt8]) throws -> SendRequest {
        guard case .send(let send) = try self.work(from: text) else {
            throw StoreError(.corrupt, "a send message holds another job")
        }
        return send
    }

    /// Decodes the output of ``text(_:)``.
    package static func value<Value: Decodable>(_ type: Value.Type, from text: String) throws -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(text.utf8))
        } catch {
            throw StoreError(.corrupt, "a row's JSON is not of its kind")
        }
    }
}
