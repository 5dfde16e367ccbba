import PushModel
import Store

/// A value in words, without what each store numbers for itself: of two stores that say the same, it is the same text.
enum Description {
    /// Numbers of jobs, rows and messages, and what is made of them.
    private static let own: Set<String> = [
        "sequence", "row", "rows", "acceptedRows", "from", "to", "after", "through", "scannedThrough", "position",
        "version", "estimate",
        "notificationID", "messageID", "cursor", "memory", "space", "backup",
    ]

    static func of<Value>(_ value: Value) -> String {
        switch value {
        // A log shows less of it.
        case let handle as Handle: return handle.text
        case let list as HandleList: return "\((0..<list.count).map { list.handle(at: $0).text })"
        case let text as String: return "\"\(text)\""
        case is MessageID: return "#"
        case let written as FanOutWritten: return self.written(written)
        default: return self.parts(of: value)
        }
    }

    private static func parts<Value>(of value: Value) -> String {
        let mirror = Mirror(reflecting: value)
        let values = mirror.children.map { self.of($0.value) }
        switch mirror.displayStyle {
        case .optional: return values.first ?? "-"
        case .collection: return "[\(values.joined(separator: ", "))]"
        case .set, .dictionary: return "{\(values.sorted().joined(separator: ", "))}"
        case .struct where value is any CustomStringConvertible: return "\(value)"
        case .enum where mirror.children.isEmpty || value is any CustomStringConvertible: return "\(value)"
        case .struct, .tuple, .enum:
            let parts = mirror.children.compactMap { child -> String? in
                let label = child.label ?? ""
                return self.own.contains(label) ? nil : "\(label) \(self.of(child.value))"
            }
            return "(\(parts.joined(separator: ", ")))"
        default: return "\(value)"
        }
    }

    /// Sends that are lost have numbers.
    private static func written(_ written: FanOutWritten) -> String {
        self.parts(of: (written.deliveries, written.ownMessages, written.lost.count, written.isDone, written.waiter))
    }
}
