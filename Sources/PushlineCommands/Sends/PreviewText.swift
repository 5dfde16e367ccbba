import Foundation
import PushlineClient

/// What a push service would get, in words for people.
enum PreviewText {
    static func lines(_ preview: NotificationPreview) -> [String] {
        var lines = [preview.service.rawValue + (preview.credential.map { "/\($0)" } ?? "")]
        if let size = preview.size, let limit = preview.limit { lines[0] += ", \(size) of \(limit) bytes" }
        lines += (preview.headers ?? [:]).sorted { $0.key < $1.key }.map { "  \($0.key): \($0.value)" }
        if let payload = preview.payload { lines.append("  \(Self.text(payload))") }
        for fault in preview.errors ?? [] {
            lines.append("  wrong: \([fault.member, fault.reason].compactMap { $0 }.joined(separator: ": "))")
        }
        return lines.map(Console.safe)
    }

    /// Members that come to nothing.
    static func lines(_ warnings: [NotificationPreview.Fault]?) -> [String] {
        (warnings ?? []).map {
            Console.safe("warning: \([$0.member, $0.reason].compactMap { $0 }.joined(separator: " "))")
        }
    }

    private static func text(_ payload: JSON) -> String {
        if case .string(let text) = payload { return text }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(payload)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}
