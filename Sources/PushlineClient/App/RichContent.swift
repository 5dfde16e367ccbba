public import Foundation

/// The content of a rich or secure notification.
public enum RichContent: Sendable, Equatable {
    /// A picture or another file, of a rich notification.
    case file(Data, mediaType: String)
    /// The text of a secure notification, and whether it was fetched before.
    case text(String, wasRead: Bool)

    /// Reads the answer to a fetch.
    init(_ answer: HTTPAnswer, id: Int) throws {
        struct Secure: Decodable {
            let id: Int
            let payload: String
            let read: Bool

            enum CodingKeys: String, CodingKey {
                case id = "Id"
                case payload = "Payload"
                case read = "Read"
            }
        }
        guard !answer.body.isEmpty else {
            throw PushlineError(.unexpectedAnswer, "the content of the notification \(id) is empty")
        }
        let header = answer.headers["content-type"] ?? "application/octet-stream"
        let mediaType = header.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
        // An uploaded file may be JSON, too.
        if mediaType == "application/json", let secure = try? JSONDecoder().decode(Secure.self, from: answer.body),
            secure.id == id
        {
            self = .text(secure.payload, wasRead: secure.read)
        } else {
            self = .file(answer.body, mediaType: mediaType)
        }
    }
}
